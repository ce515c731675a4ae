//! The bill of materials: every package that the lock files name (CycloneDX 1.5, JSON).

use std::fmt::Write as _;

use anyhow::{Context, Result};
use base64ct::{Base64, Encoding};
use serde_json::{Value, json};

use crate::packages::{Hash, Package};

/// What it is the bill of.
pub(super) struct Product<'a> {
    /// The version of the packages.
    pub(super) version: &'a str,
    /// When it was committed, as RFC 3339 has it: not when it was built, which would be another time with each build.
    pub(super) committed_at: &'a str,
}

/// Writes it. What is not in the binary has the scope `excluded`: it builds, tests or checks.
///
/// # Errors
/// A lock file holds a hash that is none.
pub(super) fn make(product: &Product<'_>, packages: &[Package]) -> Result<String> {
    let components = packages.iter().map(component).collect::<Result<Vec<_>>>()?;
    let of_itself = format!("pkg:generic/transom@{}", product.version);
    let shipped = packages.iter().filter(|package| package.is_shipped);
    let mut edges = vec![json!({
        "ref": of_itself,
        "dependsOn": shipped.map(|package| &package.purl).collect::<Vec<_>>(),
    })];
    edges.extend(
        packages
            .iter()
            .map(|package| json!({ "ref": package.purl, "dependsOn": package.uses })),
    );
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": product.committed_at,
            "component": {
                "type": "application",
                "bom-ref": of_itself,
                "name": "transom",
                "version": product.version,
                "purl": of_itself,
            },
        },
        "components": components,
        "dependencies": edges,
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

fn component(package: &Package) -> Result<Value> {
    let mut component = json!({
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "scope": if package.is_shipped { "required" } else { "excluded" },
        "purl": package.purl,
        "hashes": [hash(&package.hash).with_context(|| format!("of {}", package.purl))?],
    });
    if let Some(licence) = &package.licence {
        component["licenses"] = json!([{ "expression": licence }]);
    }
    Ok(component)
}

fn hash(hash: &Hash) -> Result<Value> {
    match hash {
        Hash::Sha256(hexadecimal) => Ok(json!({ "alg": "SHA-256", "content": hexadecimal })),
        Hash::Sha512(base64) => {
            let bytes = Base64::decode_vec(base64)
                .map_err(|error| anyhow::anyhow!("`{base64}` is no hash of npm's: {error}"))?;
            let mut hexadecimal = String::new();
            for byte in bytes {
                write!(hexadecimal, "{byte:02x}")?;
            }
            Ok(json!({ "alg": "SHA-512", "content": hexadecimal }))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use serde_json::Value;

    use super::{Product, make};
    use crate::{
        packages::locked,
        steps::{host, root},
    };

    #[test]
    fn every_locked_package_is_on_the_bill_once_with_its_hash() {
        let product = Product {
            version: "1.2.3",
            committed_at: "2026-01-01T00:00:00Z",
        };
        let text = make(&product, &locked(&host().unwrap()).unwrap()).unwrap();
        let bill: Value = serde_json::from_str(&text).unwrap();
        let components = bill["components"].as_array().unwrap();
        let names: BTreeSet<_> = components
            .iter()
            .map(|component| {
                (
                    component["name"].as_str().unwrap(),
                    component["version"].as_str().unwrap(),
                )
            })
            .collect();
        let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
        for package in lock
            .split("[[package]]")
            .filter(|package| package.contains("\nchecksum = "))
        {
            let value = |key: &str| {
                let (_, rest) = package.split_once(&format!("\n{key} = \"")).unwrap();
                rest.split('"').next().unwrap()
            };
            assert!(names.contains(&(value("name"), value("version"))), "{package}");
            assert!(text.contains(value("checksum")), "{package}");
        }
        for module in ["preact", "vite", "playwright-core"] {
            assert!(names.iter().any(|(name, _)| *name == module), "{module}");
        }
        let scope_of = |wanted: &str| {
            let component = components.iter().find(|component| component["name"] == wanted);
            component.unwrap()["scope"].as_str().unwrap()
        };
        for shipped in ["rustls", "preact"] {
            assert_eq!(scope_of(shipped), "required", "{shipped}");
        }
        for excluded in ["proptest", "vite", "playwright-core", "tailscale", "serde_derive"] {
            assert_eq!(scope_of(excluded), "excluded", "{excluded}");
        }
        let references: BTreeSet<_> = components
            .iter()
            .map(|component| component["bom-ref"].as_str())
            .collect();
        assert_eq!(references.len(), components.len());
        for edge in bill["dependencies"].as_array().unwrap() {
            for used in edge["dependsOn"].as_array().unwrap() {
                assert!(references.contains(&used.as_str()), "{used}");
            }
        }
    }
}
