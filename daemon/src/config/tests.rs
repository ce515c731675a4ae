use std::{ffi::OsString, fs, os::unix::ffi::OsStringExt, path::Path, time::Duration};

#[cfg(feature = "tailnet-embedded")]
use super::NodeOptions;
use super::{Allowed, Config, ConfigError, Layers, Source, TailnetMode, values};

fn read(
    file: &str,
    environment: &[(&str, &str)],
    flags: &[(&str, String)],
) -> Result<(Config, Layers), ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(&path, file).unwrap();
    let environment = environment
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let layers = Layers::read(&path, environment, flags)?;
    Ok((Config::from_layers(&layers)?, layers))
}

#[test]
fn without_a_file_the_defaults_hold() {
    let layers = Layers::read(Path::new("/nonexistent"), std::iter::empty(), &[]).unwrap();
    let config = Config::from_layers(&layers).unwrap();
    assert_eq!(config.tls, ["127.0.0.1:7443".parse().unwrap()]);
    assert_eq!(config.offer_ttl, Duration::from_secs(300));
    assert_eq!(config.scrollback_memory, 2 << 20);
    assert_eq!(config.default_size, (100, 30));
}

#[test]
fn flag_stands_before_environment_before_file() {
    let file = "[listen]\ntls = [\"127.0.0.1:1\"]\nnames = [\"desk.example\"]\n[sessions]\nmax = 3\n";
    let environment = [
        ("TRANSOM_LISTEN_TLS", "127.0.0.1:2,[::1]:2"),
        ("TRANSOM_SESSIONS_MAX", "4"),
    ];
    let (config, layers) = read(file, &environment, &[("listen.tls", "127.0.0.1:3".to_owned())]).unwrap();
    assert_eq!(config.tls, ["127.0.0.1:3".parse().unwrap()]);
    assert_eq!(config.max_sessions, 4);
    assert_eq!(config.names, ["desk.example"]);
    let source = |key| {
        layers
            .entries()
            .find(|(name, ..)| *name == key)
            .unwrap()
            .2
            .clone()
    };
    assert_eq!(source("listen.tls"), Source::Flag);
    assert_eq!(
        source("sessions.max"),
        Source::Environment("TRANSOM_SESSIONS_MAX".to_owned())
    );
    assert!(matches!(source("listen.names"), Source::File(_)));
    assert_eq!(source("pairing.offer_ttl"), Source::Default);
}

#[test]
fn variables_that_are_no_text_hurt_nobody_unless_they_are_keys() {
    let bytes = || OsString::from_vec(vec![0xff]);
    let read = |name: OsString| {
        Layers::read(Path::new("/nonexistent"), std::iter::once((name, bytes())), &[]).unwrap()
    };
    assert!(Config::from_layers(&read(bytes())).is_ok());
    assert!(Config::from_layers(&read("LS_COLORS".into())).is_ok());
    assert!(Config::from_layers(&read("TRANSOM_LISTEN_NAMES".into())).is_err());
}

#[test]
fn an_unknown_key_names_the_nearest_one() {
    let error = read("[pairing]\noffer_tll = \"5m\"", &[], &[]).unwrap_err();
    assert_eq!(error.hint(), "did you mean `pairing.offer_ttl`?");
    let error = read("", &[("TRANSOM_SESSION_MAX", "4")], &[]).unwrap_err();
    assert_eq!(error.hint(), "did you mean `TRANSOM_SESSIONS_MAX`?");
}

#[test]
fn a_bad_value_says_what_the_key_takes() {
    for (file, wants) in [
        ("[listen]\ntls = [\"localhost\"]", "127.0.0.1:7443"),
        (
            "[listen]\ntls = [\"0.0.0.0:7443\"]",
            "dangerous_allow_any_interface",
        ),
        ("[listen]\ntls = [\"tailnet:7443\"]", "tailnet.mode"),
        ("[listen]\ntls = [\"tailnet\"]", "127.0.0.1:7443"),
        (
            "[listen]\ntls = [\"tailnet:\"]\n[tailnet]\nmode = \"host\"",
            "tailnet:7443",
        ),
        ("[tailnet]\nmode = \"on\"", "\"off\", \"host\""),
        ("[tailnet]\nallow = [\"tagged-devices\"]", "alice@example.com"),
        ("[tailnet]\nallow = [\"tag:\"]", "tag:phone"),
        ("[tailnet]\nallow = \"self\"", "list of strings"),
        ("[tailnet]\nsocket = \"tailscaled.sock\"", "absolute path"),
        ("[listen]\nnames = [\"https://desk\"]", "host name"),
        ("[listen]\ncertificate = \"desk.pem\"", "from / on"),
        ("[listen]\ncertificate = \"/desk.pem\"", "listen.key"),
        ("[listen]\nkey = \"/desk.key\"", "listen.certificate"),
        ("[sessions]\nmax = 0", "above 0"),
        ("[sessions]\nscrollback_memory = \"2MB\"", "64KiB"),
        ("[sessions]\ndefault_size = [0, 30]", "1 to 1000"),
        ("[pairing]\noffer_ttl = 300", "duration"),
        ("[pairing]\ndefault_role = \"admin\"", "operator"),
    ] {
        let error = read(file, &[], &[]).unwrap_err();
        assert!(error.to_string().contains(wants), "{file}: {error}");
    }
}

#[test]
fn a_file_that_is_no_toml_is_said_with_its_place() {
    let error = read("[listen\n", &[], &[]).unwrap_err();
    assert!(matches!(error, ConfigError::Syntax { .. }), "{error}");
    let error = read("[pairing]\nmax_pending 3\n", &[], &[])
        .unwrap_err()
        .to_string();
    assert!(error.contains("is not valid TOML: line 2: "), "{error}");
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn a_listener_of_the_tailnet_stands_among_the_others() {
    let file = "[listen]\ntls = [\"127.0.0.1:1\", \"tailnet:2\"]\n\
                [tailnet]\nmode = \"host\"\nallow = [\"self\", \"Bob@example.com\", \"tag:phone\"]\nsocket = \"/s\"";
    let (config, _) = read(file, &[], &[]).unwrap();
    assert_eq!(config.tls, ["127.0.0.1:1".parse().unwrap()]);
    assert_eq!(config.tailnet_ports, [2]);
    assert_eq!(config.tailnet_mode, TailnetMode::Host);
    assert_eq!(config.tailnet_socket, Path::new("/s"));
    let bob = Allowed::Login("bob@example.com".parse().unwrap());
    assert_eq!(
        config.tailnet_allow,
        [Allowed::Oneself, bob, Allowed::Tag("tag:phone".to_owned())]
    );
}

#[test]
fn an_address_of_the_tailnet_is_taken_where_whoever_comes_is_asked_about() {
    let listen = "[listen]\ntls = [\"100.100.1.2:7443\", \"[fd7a:115c:a1e0::1]:7443\"]\n";
    assert!(read(listen, &[], &[]).is_err());
    let tailnet = format!("{listen}[tailnet]\nmode = \"host\"");
    assert_eq!(read(&tailnet, &[], &[]).unwrap().0.tls.len(), 2);
    let network = tailnet.replace("100.100.1.2", "192.168.1.2");
    assert!(read(&network, &[], &[]).is_err());
}

#[test]
fn a_node_of_its_own_lets_nodes_and_tags_come_and_is_told_no_users() {
    let list = |texts: &[&str]| values::allowed_nodes(&toml::Value::from(texts.to_vec()));
    let node = Allowed::Node("nKx5pTqZ3721CNTRL".to_owned());
    let tag = Allowed::Tag("tag:phone".to_owned());
    assert_eq!(list(&["nKx5pTqZ3721CNTRL", "tag:phone"]), Ok(vec![node, tag]));
    assert_eq!(list(&[]), Ok(Vec::new()));
    for (text, wants) in [
        ("self", "is a user"),
        ("alice@example.com", "is a user"),
        ("tag:", "nor a tag"),
        ("phone.tail1234.ts.net", "stable id of a node"),
        ("", "stable id of a node"),
    ] {
        let error = list(&["nPhone", text]).unwrap_err();
        assert!(error.contains(wants), "{text}: {error}");
    }
    // And where users are told, nodes are none.
    let host = "[tailnet]\nmode = \"host\"\nallow = [\"nKx5pTqZ3721CNTRL\"]";
    assert!(read(host, &[], &[]).is_err());
}

#[cfg(not(feature = "tailnet-embedded"))]
#[test]
fn without_a_node_of_its_own_the_mode_is_refused_with_the_command_that_makes_one() {
    let error = read("[tailnet]\nmode = \"embedded\"", &[], &[]).unwrap_err();
    let command = "`cargo build --release --locked --package cli --features tailnet-embedded`";
    assert!(error.to_string().contains(command), "{error}");
}

#[cfg(feature = "tailnet-embedded")]
#[test]
fn a_node_of_its_own_has_a_name_a_key_and_a_control_server_and_picks_no_port() {
    let embedded = |listen: &str, more: &str| {
        let file = format!("[listen]\ntls = [\"{listen}\"]\n[tailnet]\nmode = \"embedded\"\n{more}");
        read(&file, &[], &[]).map(|(config, _)| config)
    };
    let named = "allow = [\"nPhone\"]\nhostname = \"desk\"\nauth_key_file = \"/k\"\ncontrol_url = \"https://hs.example\"";
    let config = embedded("tailnet:7443", named).unwrap();
    assert_eq!(config.tailnet_mode, TailnetMode::Embedded);
    assert_eq!(config.tailnet_allow, [Allowed::Node("nPhone".to_owned())]);
    let options = NodeOptions {
        hostname: Some("desk".to_owned()),
        auth_key: Some("/k".into()),
        control: Some("https://hs.example".to_owned()),
    };
    assert_eq!(config.tailnet_node, options);
    for (listen, more, wants) in [
        ("tailnet:7443", "", "is a user"),
        ("tailnet:0", "allow = []", "picks no free port"),
        ("tailnet:7443", "allow = []\ncontrol_url = \"hs.example\"", "URL"),
        (
            "tailnet:7443",
            "allow = []\nhostname = \"desk.example\"",
            "one label",
        ),
        ("tailnet:7443", "allow = []\nauth_key_file = \"key\"", "path"),
    ] {
        let error = embedded(listen, more).unwrap_err();
        assert!(error.to_string().contains(wants), "{more}: {error}");
    }
}

#[test]
fn any_interface_is_taken_where_it_is_asked_for() {
    let file = "[listen]\ntls = [\"0.0.0.0:0\"]\ndangerous_allow_any_interface = true";
    assert!(read(file, &[], &[]).is_ok());
}
