import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";

/**
 * @typedef {{ ready: true, instance: string, version: string, socket: string,
 *   tls: { address: string, pin: string, names: string[] }[] }} Ready
 * @typedef {{ code: number | null, stdout: string, stderr: string }} Said
 * @typedef {{ id: string, name: string, state: string, size: { columns: number, rows: number },
 *   end: number, viewers: number, writers: number, last_line: string }} Session
 */

/** One real daemon in a folder of its own; its owner is this process. */
export class Daemon {
  /** @type {import("node:child_process").ChildProcess | null} */
  #process = null;
  /** @type {Ready | null} */
  #ready = null;
  #log = "";

  /** @param {string} folder a folder with mode 0700 that nobody else uses */
  constructor(folder) {
    this.folder = folder;
  }

  /** Starts it on a port that is free, and waits for its ready line. */
  async start() {
    const child = spawn(binary(), ["up", "--json", "--tls", "127.0.0.1:0"], {
      env: environment(this.folder),
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stderr.setEncoding("utf8").on("data", (text) => (this.#log += text));
    this.#process = child;
    const line = await Promise.race([once(createInterface({ input: child.stdout }), "line"), once(child, "exit")]);
    if (typeof line[0] !== "string") throw new Error(`the daemon did not start:\n${this.#log}`);
    this.#ready = JSON.parse(line[0]);
  }

  /** What it said when it was ready. @returns {Ready} */
  get ready() {
    if (!this.#ready) throw new Error("the daemon was not started");
    return this.#ready;
  }

  /** The port of its TLS listener. */
  get port() {
    return Number(this.ready.tls[0]?.address.split(":").at(-1));
  }

  /** Ends it as a power cut would. */
  async kill() {
    if (!this.#process || this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }

  /** Ends it with its sessions. */
  async stop() {
    if (!this.#process || this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    const said = await this.run("shutdown", "--sessions");
    if (said.code !== 0) this.#process.kill("SIGKILL");
    await ended;
  }

  /**
   * Runs the command line as the owner.
   * @param {...string} words
   * @returns {Promise<Said>}
   */
  async run(...words) {
    const child = this.spawn(...words);
    child.stdin.end();
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
    const [code] = await once(child, "close");
    return { code, stdout, stderr };
  }

  /**
   * Runs a verb that prints JSON, and must work.
   * @param {...string} words
   * @returns {Promise<any>}
   */
  async json(...words) {
    const [verb = "", ...rest] = words;
    const { code, stdout, stderr } = await this.run(verb, "--json", ...rest);
    if (code !== 0) throw new Error(`transom ${words.join(" ")}: exit code ${code}\n${stdout}${stderr}`);
    return JSON.parse(stdout);
  }

  /** Starts the command line without waiting for it. @param {...string} words */
  spawn(...words) {
    return spawn(binary(), words, { env: environment(this.folder), stdio: ["pipe", "pipe", "pipe"] });
  }

  /**
   * Calls the API as the owner.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  async api(method, path, body) {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const call = request({ socketPath: this.ready.socket, method, path, headers, agent: false });
    call.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = await once(call, "response");
    let text = "";
    for await (const piece of answer.setEncoding("utf8")) text += piece;
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  /**
   * Starts a session with a script of `sh`, in an environment that is the same everywhere.
   * @param {string} name
   * @param {string} script
   * @param {{ columns: number, rows: number }} [size]
   * @returns {Promise<Session>}
   */
  session(name, script, size = { columns: 80, rows: 24 }) {
    const env = { PATH: process.env["PATH"] ?? "", HOME: this.folder, LANG: "C.UTF-8", PS1: "$ " };
    return this.api("POST", "/v1/sessions", { command: "sh", args: ["-c", script], name, env, size });
  }
}

/** A script that prints text, escapes as `printf` knows them, and then is a shell. @param {string} text */
export function shellAfter(text) {
  return `printf '${text}'; exec bash --noprofile --norc -i`;
}

/** The environment of a daemon and its command line; another `TRANSOM_…` would be a configuration error. @param {string} folder */
function environment(folder) {
  return { PATH: process.env["PATH"] ?? "", HOME: folder, LANG: "C.UTF-8", TRANSOM_DIR: folder };
}

function binary() {
  return process.env["TEST_TRANSOM_BINARY"] ?? fileURLToPath(new URL("../../../target/debug/transom", import.meta.url));
}
