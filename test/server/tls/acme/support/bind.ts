/** BIND with zones that accept updates signed by one key, as a process on a free loopback port. */
import { spawn } from "node:child_process";
import { Resolver } from "node:dns/promises";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./pebble.ts";

export const TSIG = {
  name: "gw-acme.",
  algorithm: "hmac-sha256",
  secret: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
} as const;

export interface Bind {
  /** `host:port` */
  readonly address: string;
  txt(name: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

const zone = (name: string, more: readonly string[] = []): string =>
  [
    "$TTL 300",
    `@ IN SOA ns.${name}. host.${name}. 1 3600 600 86400 60`,
    `@ IN NS ns.${name}.`,
    "ns IN A 127.0.0.1",
    "@ IN A 127.0.0.1",
    "* IN A 127.0.0.1",
    ...more,
    "",
  ].join("\n");

const READY_MS = 20_000;

/** Zones `example.com`, in which `deleg` has its challenges elsewhere, and `acme.example.net`. */
export async function startBind(path: string): Promise<Bind> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-bind-"));
  const port = await freePort();
  await writeFile(
    join(folder, "example.com.db"),
    zone("example.com", [
      "_acme-challenge.deleg IN CNAME deleg.acme.example.net.",
      "_acme-challenge.loop IN CNAME _acme-challenge.loop2",
      "_acme-challenge.loop2 IN CNAME _acme-challenge.loop",
    ]),
  );
  await writeFile(join(folder, "acme.example.net.db"), zone("acme.example.net"));
  const grant = (name: string) => `grant gw-acme. name ${name} TXT;`;
  const names = ["_acme-challenge.example.com", "_acme-challenge.gw.example.com"];
  await writeFile(
    join(folder, "named.conf"),
    `options { directory "${folder}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };
       pid-file "named.pid"; session-keyfile "session.key"; recursion yes; allow-recursion { any; }; allow-query { any; };
       notify no; dnssec-validation no; };
     controls { };
     key "${TSIG.name}" { algorithm ${TSIG.algorithm}; secret "${TSIG.secret}"; };
     key "other." { algorithm ${TSIG.algorithm}; secret "${TSIG.secret}"; };
     zone "example.com" { type primary; file "example.com.db"; update-policy { ${names.map(grant).join(" ")} }; };
     zone "acme.example.net" { type primary; file "acme.example.net.db"; update-policy { grant gw-acme. zonesub TXT; }; };`,
  );
  const child = spawn(path, ["-c", join(folder, "named.conf"), "-g", "-n", "1"], { cwd: folder, stdio: "ignore" });
  process.once("exit", () => child.kill("SIGKILL"));
  const resolver = new Resolver({ timeout: 1_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${port}`]);
  const until = performance.now() + READY_MS;
  for (let isReady = false; !isReady; ) {
    isReady = await resolver.resolve4("ns.example.com").then(
      () => true,
      () => false,
    );
    if (!isReady && performance.now() > until) throw new Error("BIND does not answer");
    if (!isReady) await new Promise((again) => setTimeout(again, 50));
  }
  return {
    address: `127.0.0.1:${port}`,
    txt: async (name) =>
      await resolver.resolveTxt(name).then(
        (found) => found.map((parts) => parts.join("")).sort(),
        () => [],
      ),
    async close() {
      child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
