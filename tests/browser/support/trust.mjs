import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { promisify } from "node:util";

/**
 * Makes a browser that runs with this home trust the certificate that a port serves, and no other.
 * `P` is certutil's flag for a server that is trusted itself: the certificate is no authority, so `C` would not do.
 * @param {string} home
 * @param {number} port
 */
export async function trust(home, port) {
  const folder = join(home, ".pki", "nssdb");
  const database = ["-d", `sql:${folder}`];
  await mkdir(folder, { recursive: true });
  if (!existsSync(join(folder, "cert9.db"))) await certutil(["-N", "--empty-password", ...database]);
  const file = join(home, "certificate.der");
  await writeFile(file, await certificate(port));
  await certutil(["-A", "-n", `transom-${port}`, "-t", "P,,", "-i", file, ...database]);
}

/** The certificate that a port serves, in DER. @param {number} port */
async function certificate(port) {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return raw;
}

const certutil = (/** @type {string[]} */ words) => promisify(execFile)("certutil", words);
