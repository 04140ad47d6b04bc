/** Warnings about a machine that is too small, ports in use, and files that others may read. */
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  descriptorAnswer,
  descriptorsIn,
  diskAnswer,
  memoryAnswer,
  portAnswer,
  verificationAnswer,
} from "../../../src/cli/check/machine-checks.ts";
import { execute } from "../../../src/cli/main.ts";
import { writeFiles } from "../../e2e/support/config.ts";
import { startGateway } from "../../e2e/support/gateway.ts";
import { freePort, listenLocally } from "../../e2e/support/ports.ts";
import { bufferIo } from "../buffer-io.ts";

const MIB = 1 << 20;

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max processes             95000                95000                processes
Max open files            1024                 1048576              files
Max locked memory         8388608              8388608              bytes
`;

test("the soft limit of descriptors is read, and none is reported if unlimited or unknown", () => {
  assert.equal(descriptorsIn(LIMITS), 1024);
  assert.equal(descriptorsIn(LIMITS.replace("1024 ", "unlimited ")), undefined);
  assert.equal(descriptorsIn(""), undefined);
});

const machine = (descriptors: number | undefined, memoryBytes = 4096 * MIB) => ({ descriptors, memoryBytes, cores: 2 });

test("descriptors suffice for the maximum number of requests, or the remedy is given", () => {
  assert.equal(descriptorAnswer(machine(undefined), {}), undefined);
  assert.equal(descriptorAnswer(machine(8448), {}), undefined);
  const few = descriptorAnswer(machine(1024), {});
  assert.equal(few?.verdict, "note");
  assert.match(few?.message ?? "", /LimitNOFILE=8448 .*`ulimit -n 8448`.*GATEWAY_MAX_IN_FLIGHT$/);
  assert.equal(descriptorAnswer(machine(1024), { GATEWAY_MAX_IN_FLIGHT: "100" }), undefined);
  assert.equal(descriptorAnswer(machine(256), {})?.verdict, "fail");
});

test("certificates that are not verified are reported", () => {
  assert.equal(verificationAnswer({}), undefined);
  assert.equal(verificationAnswer({ NODE_TLS_REJECT_UNAUTHORIZED: "1" }), undefined);
  const off = verificationAnswer({ NODE_TLS_REJECT_UNAUTHORIZED: "0" });
  assert.equal(off?.verdict, "note");
  assert.match(off?.message ?? "", /credentials can be intercepted: unset it/);
});

test("memory suffices for the maximum buffered bytes, or the fitting amount is given", () => {
  assert.equal(memoryAnswer(machine(1, 960 * MIB), {}), undefined);
  const tight = memoryAnswer(machine(1, 570 * MIB), {});
  assert.equal(tight?.verdict, "note");
  assert.match(tight?.message ?? "", new RegExp(`GATEWAY_MAX_BUFFERED_BYTES=${200 * MIB}, `));
  const tiny = memoryAnswer(machine(1, 256 * MIB), {});
  assert.equal(tiny?.verdict, "fail");
  assert.match(tiny?.message ?? "", /may kill the gateway: add memory$/);
  // By default as many processes as fit.
  assert.equal(memoryAnswer(machine(1, 1_024 * MIB), {}), undefined);
  const many = memoryAnswer(machine(1, 1_024 * MIB), { GATEWAY_WORKERS: "8" });
  assert.match(
    many?.message ?? "",
    /1\.4 GiB in 8 worker processes \(GATEWAY_WORKERS\), but this machine has only 1\.0 GiB/,
  );
  assert.equal(memoryAnswer(machine(1, 512 * MIB), { GATEWAY_MAX_BUFFERED_BYTES: String(64 * MIB) }), undefined);
});

const FAULTS: readonly (readonly [
  code: string | undefined,
  isRunning: boolean,
  verdict: string | undefined,
  message: RegExp,
])[] = [
  [undefined, false, undefined, /^$/],
  ["EADDRINUSE", true, "note", /by the gateway that runs here/],
  ["EADDRINUSE", false, "fail", /`ss -ltnp 'sport = :80'`/],
  ["EADDRNOTAVAIL", false, "fail", /not an address of this machine/],
  ["EACCES", false, "note", /CAP_NET_BIND_SERVICE/],
  ["EMFILE", false, "fail", /cannot listen on .*: EMFILE/],
];

for (const [code, isRunning, verdict, message] of FAULTS) {
  test(`a port is ${code ?? "free"}${isRunning ? " while the gateway runs" : ""}: ${verdict ?? "nothing is reported"}`, () => {
    const answer = portAnswer("listen", "127.0.0.1:80", code, isRunning);
    assert.equal(answer?.verdict, verdict);
    assert.match(answer?.message ?? "", message);
  });
}

test("a full disk is reported by the nearest existing directory", {
  skip: process.platform !== "linux",
}, async () => {
  // A file system without space.
  const full = await diskAnswer("cluster.data_dir", "/proc/not/there");
  assert.equal(full?.verdict, "fail");
  assert.match(
    full?.message ?? "",
    /^\/proc\/not\/there has 0 MiB of free disk space, .*free space, or use another disk$/,
  );
});

async function check(path: string) {
  const io = bufferIo();
  const status = await execute(["check", "-config", path], io);
  return { status, lines: io.out().split("\n") };
}

test("a port used by another process fails the check, and one used by the gateway does not", async (t) => {
  const taken = createServer();
  const port = await listenLocally(taken);
  t.after(() => taken.close());
  const strange = await writeFiles(t, { providers: [] }, { listen: `127.0.0.1:${port}` });
  const { status, lines } = await check(strange.nodePath);
  assert.equal(status, 1);
  assert.match(
    lines.find((it) => it.startsWith("fail")) ?? "",
    new RegExp(`^fail {2}listen: 127\\.0\\.0\\.1:${port} is in use: `),
  );

  const [listen, metrics] = [await freePort(), await freePort()];
  const own = {
    listen: `127.0.0.1:${listen}`,
    metrics_listen: `127.0.0.1:${metrics}`,
    admin: { local_socket: "admin.sock" },
  };
  const files = await writeFiles(t, { providers: [] }, own);
  const free = await check(files.nodePath);
  assert.equal(free.status, 0, free.lines.join("\n"));
  assert.ok(free.lines.some((it) => /^(ok {4}machine|note {2}(descriptors|memory)): /.test(it)));
  await startGateway(t, { args: ["-config", files.nodePath] });
  const checkWhileServed = async (): Promise<void> => {
    const served = await check(files.nodePath);
    assert.equal(served.status, 0, served.lines.join("\n"));
    assert.ok(served.lines.some((it) => it.startsWith(`note  listen: 127.0.0.1:${listen} is in use by the gateway`)));
  };
  await checkWhileServed();
  // Its admin socket shows that the gateway runs, even if the edited file has no metrics address or another one.
  for (const metrics_listen of ["none", `127.0.0.1:${await freePort()}`]) {
    const text = await readFile(files.nodePath, "utf8");
    await writeFile(files.nodePath, JSON.stringify({ ...JSON.parse(text), metrics_listen }));
    await checkWhileServed();
  }
});

const skip = process.platform === "win32" ? "no modes on Windows" : false;

test("files that others may read or change are named, with the command that fixes them", { skip }, async (t) => {
  const secrets = await mkdtemp(join(tmpdir(), "gateway-secrets-"));
  t.after(() => rm(secrets, { recursive: true }));
  const files = await writeFiles(t, { providers: [] }, { secrets_dir: secrets });
  const [open, closed] = [join(secrets, "OPEN"), join(secrets, "CLOSED")];
  await writeFile(open, "k");
  await writeFile(closed, "k");
  await chmod(open, 0o644);
  await chmod(closed, 0o600);
  await chmod(files.nodePath, 0o666);
  await mkdir(join(files.dir, "data"));
  await chmod(join(files.dir, "data"), 0o750);
  const { status, lines } = await check(files.nodePath);
  assert.equal(status, 0, lines.join("\n"));
  const text = lines.join("\n");
  assert.match(
    text,
    new RegExp(
      `^note {2}secret file: other users of this machine can read ${open} \\(mode 0644\\): run \`chmod o-r ${open}\`$`,
      "m",
    ),
  );
  assert.match(
    text,
    new RegExp(
      `^note {2}configuration: other users of this machine can change ${files.nodePath} \\(mode 0666\\): run \`chmod go-w `,
      "m",
    ),
  );
  assert.match(text, /^note {2}cluster\.data_dir: .* \(mode 0750\): run `chmod 700 /m);
  assert.doesNotMatch(text, /CLOSED/);
});
