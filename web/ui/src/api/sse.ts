/** One server-sent event (WHATWG HTML, section 9.2). */
export interface ServerSentEvent {
  /** The `event` field; `message` where there was none. */
  kind: string;
  /** The `data` lines, joined. */
  data: string;
  /** The last `id` seen; empty if there was none yet. */
  id: string;
}

/** Turns the chunks of an event stream into events, wherever the chunks were cut. */
export class EventParser {
  private readonly decoder = new TextDecoder();
  private buffered = "";
  private kind = "";
  private data: string[] = [];
  private id = "";

  /** Takes the next chunk and returns the events that it completed. */
  push(chunk: Uint8Array): ServerSentEvent[] {
    this.buffered += this.decoder.decode(chunk, { stream: true });
    const events: ServerSentEvent[] = [];
    for (let line = this.takeLine(); line !== null; line = this.takeLine()) {
      const event = this.takeField(line);
      if (event) events.push(event);
    }
    return events;
  }

  private takeLine(): string | null {
    const match = /\r\n|\n|\r(?!$)/.exec(this.buffered);
    if (!match) return null;
    const line = this.buffered.slice(0, match.index);
    this.buffered = this.buffered.slice(match.index + match[0].length);
    return line;
  }

  private takeField(line: string): ServerSentEvent | null {
    if (line === "") return this.dispatch();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.kind = value;
    if (name === "data") this.data.push(value);
    if (name === "id") this.id = value;
    return null;
  }

  private dispatch(): ServerSentEvent | null {
    const event = { kind: this.kind || "message", data: this.data.join("\n"), id: this.id };
    const complete = this.data.length > 0;
    this.kind = "";
    this.data = [];
    return complete ? event : null;
  }
}
