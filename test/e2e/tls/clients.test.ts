/** The TLS listener with OpenSSL's client, and the official SDKs that trust a company's own root. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { twoDialects } from "../support/config.ts";
import { simulated } from "../support/simulated.ts";
import { eventually, within } from "../support/wait.ts";
import { startSecure } from "./support.ts";

const file = { after };
const provider = await simulated(file);
const gateway = await startSecure(file, {
  catalog_overlays: [twoDialects("simulator", provider.url)],
  providers: [{ preset: "simulator", models: ["sim-*"] }],
});
const openssl = await promisify(execFile)("openssl", ["version"]).then(
  () => undefined,
  () => "openssl is not installed",
);

const ASKING = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/** Returns all of its stdout and stderr. */
async function client(...args: readonly string[]): Promise<string> {
  const child = spawn("openssl", [
    "s_client",
    ...["-connect", `127.0.0.1:${gateway.port}`, "-CAfile", gateway.rootFile, "-ign_eof", ...args],
  ]);
  child.stdin.on("error", () => undefined).end(ASKING);
  try {
    const answer = await within("its end", Promise.all([text(child.stdout), text(child.stderr)]), 20_000);
    return answer.join("\n");
  } finally {
    child.kill("SIGKILL");
  }
}

/** Refused by the server with an alert, not by a client without anything to offer. */
const REFUSED = [/Cipher is \(NONE\)/, /SSL alert number \d+/];

const OLD = ["-cipher", "ALL:@SECLEVEL=0"];

const CASES: readonly (readonly [name: string, args: readonly string[], output: readonly RegExp[]])[] = [
  [
    "TLS 1.2",
    ["-tls1_2"],
    [/TLSv1\.2, Cipher is ECDHE-ECDSA-\S*(GCM|CHACHA20)/, /Verify return code: 0 \(ok\)/, /^HTTP\/1\.1 404/m],
  ],
  ["TLS 1.3", ["-tls1_3"], [/TLSv1\.3, Cipher is TLS_/, /Verify return code: 0 \(ok\)/, /^HTTP\/1\.1 404/m]],
  ["TLS 1.1", ["-tls1_1", ...OLD], REFUSED],
  ["TLS 1.0", ["-tls1", ...OLD], REFUSED],
  ["a cipher in CBC mode", ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"], REFUSED],
  ["no forward secrecy", ["-tls1_2", "-cipher", "AES128-GCM-SHA256"], REFUSED],
  ["no server name", ["-noservername"], [/subject=.*test server/, /Verify return code: 0 \(ok\)/]],
  ["an unknown server name", ["-servername", "elsewhere.example"], [/subject=.*test server/, /^HTTP\/1\.1 404/m]],
  ["the chain", ["-showcerts"], [/ 0 s:.*test server[\s\S]* 1 s:.*test intermediate\s+i:.*test root/]],
  ["HTTP/2 and HTTP/1.1", ["-alpn", "h2,http/1.1"], [/ALPN protocol: http\/1\.1/]],
  ["HTTP/2 alone", ["-alpn", "h2"], [...REFUSED, /no application protocol/]],
];

for (const [name, args, output] of CASES) {
  test(`openssl s_client: ${name}`, { skip: openssl }, async () => {
    const result = await client(...args);
    for (const each of output) assert.match(result, each);
    assert.doesNotMatch(result, / 2 s:/, "the root is not sent");
  });
}

test("openssl s_client: a session is resumed by its ticket, TLS 1.2 and 1.3", { skip: openssl }, async () => {
  for (const version of ["-tls1_2", "-tls1_3"]) {
    const kept = join(dirname(gateway.rootFile), `session${version}`);
    assert.match(await client(version, "-sess_out", kept), /^New, TLS/m);
    assert.match(await client(version, "-sess_in", kept), /^Reused, TLS/m);
  }
});

test("openssl s_client: a client that asks to renegotiate an open connection is refused", {
  skip: openssl,
}, async () => {
  const args = ["-connect", `127.0.0.1:${gateway.port}`, "-CAfile", gateway.rootFile, "-tls1_2"];
  const child = spawn("openssl", ["s_client", ...args]);
  child.stdin.on("error", () => undefined);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      output += part;
    });
  }
  try {
    await eventually("the end of the handshake", () => output.includes("Verify return code: 0 (ok)"));
    child.stdin.write("R\n");
    await eventually("the refusal", () => /no renegotiation/.test(output));
    assert.match(output, /RENEGOTIATING/);
  } finally {
    child.kill("SIGKILL");
  }
});

const SDKS = `
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
const [url] = process.argv.slice(1);
const asked = { model: "sim-small", messages: [{ role: "user", content: "hello" }] };
const openai = new OpenAI({ baseURL: url + "/v1", apiKey: "k", maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 });
const words = [];
words.push((await openai.chat.completions.create(asked)).choices[0].message.content);
let streamed = "";
for await (const it of await openai.chat.completions.create({ ...asked, stream: true })) streamed += it.choices[0]?.delta.content ?? "";
words.push(streamed);
words.push((await anthropic.messages.create({ ...asked, max_tokens: 100 })).content[0].text);
words.push(await anthropic.messages.stream({ ...asked, max_tokens: 100 }).finalText());
console.log(JSON.stringify(words));
`;

/** Both programs read the trusted roots at startup. */
async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly [out: string, err: string]> {
  const child = spawn(program, [...args, gateway.secureUrl], {
    cwd: dirname(fileURLToPath(import.meta.url)),
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    return await within("the end of the program", Promise.all([text(child.stdout), text(child.stderr)]), 60_000);
  } finally {
    child.kill("SIGKILL");
  }
}

const sdks = (env: Readonly<Record<string, string>>) => run(process.execPath, ["--input-type=module", "-e", SDKS], env);

test("the official SDKs are answered whole and streamed if they trust the root, and not otherwise", async () => {
  const [out, err] = await sdks({ NODE_EXTRA_CA_CERTS: gateway.rootFile });
  assert.equal(err, "");
  const lines = JSON.parse(out) as readonly string[];
  assert.equal(lines.length, 4);
  for (const each of lines) assert.match(each, /simulated answer/);
  const [none, why] = await sdks({});
  assert.equal(none, "");
  assert.match(why, /Connection error|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|unable to get local issuer/);
});
