import type { ComponentChildren } from "preact";
import { useContext, useEffect, useRef } from "preact/hooks";
import type { Ending, EndReason } from "../connection/machine";
import { EnterOffer } from "../pairing/enter";
import { route } from "../router";
import { strings } from "../strings";
import { Mark } from "./icons";
import { sentence } from "./reason";
import { TileContext } from "./tile";

/** A whole screen, or a tile of it, that says one thing. */
export function Message(props: { kind: string; title: string; text?: string; command?: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const tile = useContext(TileContext);
  // The screen has changed under the person: a screen reader goes on from here.
  useEffect(() => {
    if (tile?.isFocused ?? true) heading.current?.focus();
  }, [props.kind, tile?.calls]);
  const [Root, Heading] = tile ? (["div", "h2"] as const) : (["main", "h1"] as const);
  return (
    <Root class="message" data-message={props.kind}>
      <div class="card">
        {!tile && <Mark />}
        <Heading ref={heading} tabIndex={-1}>
          {props.title}
        </Heading>
        {props.text && <p>{props.text}</p>}
        {props.command && <Command text={props.command} />}
        {props.children}
      </div>
    </Root>
  );
}

/** Why a connection is over, and what to do now. */
export function Ended({ reason, said }: { reason: Exclude<EndReason, "finished">; said?: Ending["said"] }) {
  const { title, text } = strings.ended[reason];
  const words = said && `${sentence(said.detail)} ${sentence(said.hint)}`.trim();
  const isRefused = reason === "not_permitted" || reason === "wrong_node";
  const command = COMMANDS[reason];
  return (
    <Message kind={reason} title={title} text={words || text} {...(command ? { command } : {})}>
      {(reason === "unreadable" || reason === "storage") && <ReloadButton />}
      {command === strings.pairCommand && <EnterOffer />}
      {isRefused && <ReloadButton>{strings.ended.again}</ReloadButton>}
      {(reason === "gone" || reason === "lost" || (isRefused && route.value.kind === "session")) && <HomeLink />}
    </Message>
  );
}

/** Loads the page again, which brings the daemon's own version of it. */
export function ReloadButton({ children = strings.terminal.reload }: { children?: ComponentChildren }) {
  return (
    <button type="button" class="button" onClick={() => location.reload()}>
      {children}
    </button>
  );
}

/** The way back to the list; a tile is closed instead, since the list is beside it. */
export function HomeLink() {
  const tile = useContext(TileContext);
  if (tile) {
    return (
      <button type="button" class="button" onClick={tile.close}>
        {strings.desktop.close}
      </button>
    );
  }
  return (
    <a class="button" href="/">
      {strings.pair.toSessions}
    </a>
  );
}

/** A command to type on the daemon's machine. */
export function Command({ text }: { text: string }) {
  return (
    <pre class="command">
      <span aria-hidden="true">$ </span>
      <code>{text}</code>
    </pre>
  );
}

const COMMANDS: Partial<Record<EndReason, string>> = {
  revoked: strings.pairCommand,
  signed_out: strings.pairCommand,
  expired: strings.pairCommand,
  unrecognised: strings.pairCommand,
  unpaired: strings.pairCommand,
  wrong_host: strings.statusCommand,
};
