import { strings } from "../strings";
import { Command } from "../ui/message";

/** In place of a terminal, where the browser opens no WebSocket to a daemon that answers: what is wrong, and the ways out. */
export function NoSocket() {
  const { noSocketTitle, noSocketText, waysOut, trustCommand, root } = strings.terminal;
  return (
    <section class="no-socket" role="alert" data-message="no_socket">
      <h2>{noSocketTitle}</h2>
      <p>{noSocketText}</p>
      <ol>
        {waysOut.map((way) => (
          <li key={way}>{way}</li>
        ))}
      </ol>
      <Command text={trustCommand} />
      <a href={ROOT}>
        {root}
      </a>
    </section>
  );
}

/** Public, and there once `transom certs trust` was run. */
const ROOT = "/v1/certificates/root";
