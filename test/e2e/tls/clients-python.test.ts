// tier: long
/** The TLS listener with the official Python SDKs, which come from PyPI, and a company's own root. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { twoDialects } from "../support/config.ts";
import { simulated } from "../support/simulated.ts";
import { within } from "../support/wait.ts";
import { startSecure } from "./support.ts";

const file = { after };
const provider = await simulated(file);
const gateway = await startSecure(file, {
  catalog_overlays: [twoDialects("simulator", provider.url)],
  providers: [{ preset: "simulator", models: ["sim-*"] }],
});

/** Resolves with the program's stdout and stderr; it reads the trusted roots at startup. */
async function run(env: Readonly<Record<string, string>>): Promise<readonly [out: string, err: string]> {
  const child = spawn(python.path, ["-c", PYTHON_SDKS, gateway.secureUrl], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    return await within("the end of the program", Promise.all([text(child.stdout), text(child.stderr)]), 60_000);
  } finally {
    child.kill("SIGKILL");
  }
}

const python = await peer("python-sdks");

const PYTHON_SDKS = `
import json, sys
from openai import OpenAI
from anthropic import Anthropic
url = sys.argv[1]
asked = {"model": "sim-small", "messages": [{"role": "user", "content": "hello"}]}
openai = OpenAI(base_url=url + "/v1", api_key="k", max_retries=0)
anthropic = Anthropic(base_url=url, api_key="k", max_retries=0)
words = [openai.chat.completions.create(**asked).choices[0].message.content]
words.append("".join(it.choices[0].delta.content or "" for it in openai.chat.completions.create(**asked, stream=True) if it.choices))
words.append(anthropic.messages.create(**asked, max_tokens=100).content[0].text)
with anthropic.messages.stream(**asked, max_tokens=100) as stream:
    words.append("".join(stream.text_stream))
print(json.dumps(words))
`;

test("the official Python SDKs are answered if they trust the root, and not otherwise", {
  skip: python.missing,
}, async () => {
  const trusting = { SSL_CERT_FILE: gateway.rootFile, PYTHONDONTWRITEBYTECODE: "1" };
  const [out, err] = await run(trusting);
  assert.equal(err, "");
  const lines = JSON.parse(out) as readonly string[];
  assert.equal(lines.length, 4);
  for (const each of lines) assert.match(each, /simulated answer/);
  const [none, why] = await run({ PYTHONDONTWRITEBYTECODE: "1" });
  assert.equal(none, "");
  assert.match(why, /CERTIFICATE_VERIFY_FAILED/);
});
