// tier: long
/**
 * A `remote` detector with a real Presidio analyzer: requests are understood there and answers here, and offsets match
 * the text. Source: presidio-analyze reference.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { peer } from "../../peers/index.ts";
import { chat, PROVIDER_KEY, say } from "../governance/support/governed.ts";
import { startWithFiles } from "../support/config.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { simulated } from "../support/simulated.ts";
import { atEnd, within } from "../support/wait.ts";

const python = await peer("presidio");
/** Loading takes seconds on a busy machine. */
const START_MS = 90_000;

test("a real analyzer is called, and its findings are removed in place", {
  skip: python.missing,
  timeout: START_MS + 60_000,
}, async (t) => {
  const script = fileURLToPath(new URL("presidio.py", import.meta.url));
  const child = spawn(python.path, [script], { stdio: ["ignore", "pipe", "inherit"] });
  atEnd(t, () => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout });
  const [endpoint] = (await within("the analyzer's address", once(lines, "line"), START_MS)) as [string];
  const provider = await simulated(t, { requireKey: PROVIDER_KEY });
  const gateway = await startWithFiles(t, {
    providers: [{ name: "sim", dialect: "compat", base_url: `${provider.url}/v1`, api_key: PROVIDER_KEY }],
    guardrails: {
      detectors: [
        {
          type: "remote",
          entities: ["PERSON", "EMAIL_ADDRESS", "CREDIT_CARD"],
          threshold: 0.5,
          on_error: "fail_closed",
          apply_to: ["user", "output"],
          remote: { endpoint, concurrency: 4 },
        },
        // An entity without a recognizer: it answers 500.
        { type: "remote", name: "unknown", entities: ["NO_SUCH"], apply_to: ["system"], remote: { endpoint } },
      ],
      stream: { policy: "buffer" },
      rules: [{ name: "hide", action: "redact", select: 'a.detector == "remote"' }],
    },
  });
  const send = async (content: string, more: object[] = []): Promise<string> => {
    const messages = [...more, { role: "user", content }];
    const answer = await say(gateway, { body: chat({ model: "sim-small", messages }) });
    assert.equal(answer.status, 200, answer.text);
    const last = await fetch(`${provider.url}/sim/last`, { headers: { authorization: `Bearer ${PROVIDER_KEY}` } });
    return await last.text();
  };
  const cases: readonly (readonly [given: string, hidden: string])[] = [
    ["👋🏽 I am Jürgen, é: ada@example.com", "👋🏽 I am <PERSON>, é: <EMAIL_ADDRESS>"],
    ["card 4111 1111 1111 1111 of Ada 👍", "card <CREDIT_CARD> of <PERSON> 👍"],
    ["日本語 Jürgen 日本語", "日本語 <PERSON> 日本語"],
    ["nothing to see", "nothing to see"],
  ];
  for (const [text, hidden] of cases) {
    const body = await send(text);
    assert.ok(body.includes(hidden), body);
  }
  const metrics = await readMetrics(gateway);
  assert.equal(sumOf(metrics, "gateway_detector_errors_total"), 0);
  await send("hello", [{ role: "system", content: "be kind" }]);
  assert.equal(sumOf(await readMetrics(gateway), "gateway_detector_errors_total", { detector: "unknown" }), 1);
  assert.match(gateway.stderr(), /"reason":"its server answered 500"/);
});
