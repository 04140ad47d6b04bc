/** Pebble and its challenge server as processes on free loopback ports, with their own root for HTTPS. */
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Agent, request } from "undici";

const run = promisify(execFile);

export interface PebbleOptions {
  /** The validator's port instead of 80. */
  readonly httpPort: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly requiresEab?: boolean;
  /** Lifetime of issued certificates; five years by default. */
  readonly lifeSeconds?: number;
  /** `host:port` of the validator's DNS server; by default its own, where every name is the loopback. */
  readonly dnsServer?: string;
}

export interface Pebble {
  readonly directory: string;
  /** PEM root of the authority's own HTTPS. */
  readonly roots: string;
  /** Returns the PEM root of issued certificates. */
  issuer(): Promise<string>;
  /** Number of opened orders and issued certificates. */
  counts(): { readonly orders: number; readonly issued: number };
  /** Calls the challenge server, such as `set-txt`. */
  manage(path: string, body: object): Promise<void>;
  close(): Promise<void>;
}

export const EAB = { keyId: "kid-1", macKey: "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W" };

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}

/** `path` of the executable `pebble`; its challenge server is beside it. */
export async function startPebble(path: string, options: PebbleOptions): Promise<Pebble> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-pebble-"));
  const [port, management, dns, challenges] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  await makeCertificates(folder);
  const settings = {
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate: "srv.pem",
      privateKey: "srv.key",
      httpPort: options.httpPort,
      tlsPort: 1,
      ocspResponderURL: "",
      externalAccountBindingRequired: options.requiresEab === true,
      externalAccountMACKeys: { [EAB.keyId]: EAB.macKey },
      domainBlocklist: ["blocked.example"],
      ...(options.lifeSeconds !== undefined && { certificateValidityPeriod: options.lifeSeconds }),
    },
  };
  await writeFile(join(folder, "pebble.json"), JSON.stringify(settings));
  const children = [
    start(join(dirname(path), "pebble-challtestsrv"), [
      ...["-management", `127.0.0.1:${challenges}`, "-dns01", `127.0.0.1:${dns}`],
      ...["-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", ""],
    ]),
    start(path, ["-config", "pebble.json", "-strict", "-dnsserver", options.dnsServer ?? `127.0.0.1:${dns}`], {
      cwd: folder,
      env: {
        PEBBLE_VA_NOSLEEP: "1",
        PEBBLE_WFE_NONCEREJECT: "0",
        PEBBLE_AUTHZREUSE: "0",
        ...options.env,
      },
    }),
  ];
  let output = "";
  children[1]?.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const roots = await readFile(join(folder, "ca.pem"), "utf8");
  const dispatcher = new Agent({ connect: { ca: roots } });
  const directory = `https://localhost:${port}/dir`;
  const text = async (url: string): Promise<string> => {
    const answer = await request(url, { dispatcher, headers: { "user-agent": "test" } });
    return await answer.body.text();
  };
  await untilAnswered(() => text(directory));
  await untilAnswered(() => request(`http://127.0.0.1:${challenges}/`).then(({ body }) => body.dump()));
  return {
    directory,
    roots,
    counts: () => ({
      orders: [...output.matchAll(/Added order "/g)].length,
      issued: [...output.matchAll(/Issued certificate serial/g)].length,
    }),
    issuer: () => text(`https://localhost:${management}/roots/0`),
    async manage(what, body) {
      const answer = await request(`http://127.0.0.1:${challenges}/${what}`, {
        method: "POST",
        body: JSON.stringify(body),
      });
      await answer.body.dump();
    },
    async close() {
      for (const child of children) child.kill("SIGKILL");
      await dispatcher.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function start(path: string, args: readonly string[], options: { cwd?: string; env?: Record<string, string> } = {}) {
  const child = spawn(path, args, { ...options, stdio: ["ignore", "pipe", "ignore"] });
  process.once("exit", () => child.kill("SIGKILL"));
  return child;
}

/** Uses openssl, which every distribution with Pebble has. */
async function makeCertificates(folder: string): Promise<void> {
  const openssl = (...args: string[]) => run("openssl", args, { cwd: folder });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  await openssl(
    ...["req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30"],
    ...["-subj", "/CN=test acme https root", "-addext", "keyUsage=critical,keyCertSign"],
  );
  await openssl("req", ...key, "-keyout", "srv.key", "-out", "srv.csr", "-subj", "/CN=localhost");
  await writeFile(join(folder, "ext"), "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth");
  await openssl(
    ...["x509", "-req", "-in", "srv.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"],
    ...["-days", "30", "-extfile", "ext", "-out", "srv.pem"],
  );
}

const READY_MS = 20_000;

async function untilAnswered(ask: () => Promise<unknown>): Promise<void> {
  const until = performance.now() + READY_MS;
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((again) => setTimeout(again, 50));
    }
  }
}
