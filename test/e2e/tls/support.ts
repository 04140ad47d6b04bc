/** A gateway with a certificate of a private authority, from files. */
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { type Pair, type TestAuthority, testAuthority } from "../../server/tls/support/authority.ts";
import { type Document, startWithFiles } from "../support/config.ts";
import type { Gateway } from "../support/gateway.ts";
import { atEnd, type Owner, within } from "../support/wait.ts";

interface SecureGateway extends Gateway {
  /** `https://127.0.0.1:port`. */
  readonly secureUrl: string;
  readonly authority: TestAuthority;
  /** Path of the root certificate for clients. */
  readonly rootFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly first: Pair;
  /** Writes like a careful operator: each file complete, one after the other. */
  write(pair: Pair): Promise<void>;
  /** Writes a new pair and waits until it is loaded. */
  rotate(): Promise<void>;
}

export async function startSecure(
  owner: Owner,
  deployment: Document,
  changes: Document = {},
  env: Readonly<Record<string, string>> = {},
): Promise<SecureGateway> {
  const authority = await testAuthority();
  const dir = await mkdtemp(join(tmpdir(), "gateway-tls-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const [certFile, keyFile, rootFile] = ["tls.crt", "tls.key", "root.pem"].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  const place = async (path: string, text: string): Promise<void> => {
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  };
  const write = async ({ chain, key }: Pair): Promise<void> => {
    await place(certFile, chain);
    await place(keyFile, key);
  };
  const first = await authority.issue();
  await Promise.all([write(first), writeFile(rootFile, authority.root)]);
  const tls = { cert_file: certFile, key_file: keyFile };
  const gateway = await startWithFiles(owner, deployment, { tls, ...changes }, env);
  return {
    ...gateway,
    secureUrl: gateway.url.replace("http:", "https:"),
    authority,
    rootFile,
    certFile,
    keyFile,
    first,
    write,
    async rotate() {
      const from = gateway.log().length;
      await write(await authority.issue());
      // The signal checks the files at once.
      gateway.signal("SIGHUP");
      await gateway.logged("new certificate in use", from);
    },
  };
}

/** Resolves once the handshake is done; rejects with its error. */
export async function handshake(owner: Owner, port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", ...options });
  atEnd(owner, () => socket.destroy());
  await within(
    "the handshake",
    new Promise<void>((done, failed) => {
      socket.once("secureConnect", done);
      socket.once("error", failed);
    }),
  );
  socket.on("error", () => undefined);
  return socket;
}

/** Returns the session that a client keeps for its next connection, with its protocol version. */
export async function sessionOf(
  owner: Owner,
  port: number,
  options: ConnectionOptions,
  version: "TLSv1.2" | "TLSv1.3",
): Promise<ConnectionOptions> {
  const only = { ...options, minVersion: version, maxVersion: version };
  const socket = await handshake(owner, port, only);
  const ticket = once(socket, "session");
  if (version === "TLSv1.2") return { ...only, session: socket.getSession() ?? Buffer.alloc(0) };
  const [session] = (await within("a ticket", ticket)) as [Buffer];
  return { ...only, session };
}
