/**
 * Classification of a refused signed request: by header, by body, by date. Source: credentials reference, 1.4 and 1.6.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createClockOffsets } from "../../../../src/server/credentials/signing/clock-offsets.ts";
import { signedPresenter } from "../../../../src/server/credentials/signing/cloudsig.ts";
import type { PlatformKeys } from "../../../../src/server/credentials/signing/platform-keys.ts";
import type { RenewedValue } from "../../../../src/server/credentials/tokens/renewed-value.ts";
import type { PresentedCredential, SigningCredential } from "../../../../src/server/credentials/types.ts";

const NOW = Date.UTC(2026, 10, 23);
const clock = { now: () => NOW, monotonic: () => 0 };
const REQUEST = { method: "POST", path: "/v1/chat", host: "h", headers: [], body: Buffer.from("{}") };
const KEYS: PlatformKeys = {
  accessKeyId: "ASIA",
  secretAccessKey: "a-secret-key",
  sessionToken: "a-session",
  source: "x",
};
const CREDENTIAL: SigningCredential = {
  kind: "cloudsig",
  name: "signer",
  digest: "d",
  scope: { region: "us-east-1", service: "bedrock" },
  keys: undefined,
};
const dateOf = (offsetMs: number): string => new Date(NOW + offsetMs).toUTCString();

function signing(mayDrop = true) {
  const changes: number[] = [];
  const repeats: string[] = [];
  let dropped = 0;
  const platform: RenewedValue<PlatformKeys> = {
    current: () => KEYS,
    drop() {
      dropped++;
      return mayDrop;
    },
    close: () => undefined,
  };
  const present = signedPresenter(CREDENTIAL, {
    platform,
    offsets: createClockOffsets({ now: clock.now, onChange: (_, offsetMs) => changes.push(offsetMs) }),
    clock,
    metrics: { countRepeat: (_, reason) => repeats.push(reason) },
  });
  return { present: () => present(REQUEST) as PresentedCredential, changes, repeats, dropped: () => dropped };
}

const FAR = 600_000;

/** Status, headers, body; then the verdict, and the reason for sending the request again. */
const ANSWERS: readonly (readonly [number, Readonly<Record<string, string>>, string, "accept" | "again", string?])[] = [
  [200, { date: dateOf(FAR) }, "", "accept"],
  [500, { date: dateOf(FAR) }, "", "accept"],
  [403, { date: dateOf(FAR), "x-amzn-errortype": "InvalidSignatureException:http://x/" }, "", "again", "clock"],
  [403, { date: dateOf(-FAR), "x-amzn-errortype": "com.amazon#RequestTimeTooSkewed" }, "", "again", "clock"],
  [400, { date: dateOf(FAR), "x-amzn-errortype": "RequestExpired" }, "", "again", "clock"],
  [403, { date: dateOf(FAR), "x-amzn-errortype": "ValidationException" }, "", "accept"],
  [403, { date: dateOf(FAR) }, '{"__type":"com.amazon.coral#InvalidSignatureException"}', "again", "clock"],
  [403, { date: dateOf(FAR) }, '{"error":{"code":"SignatureDoesNotMatch"}}', "again", "clock"],
  [403, { date: dateOf(FAR) }, '{"message":"Signature expired: 2026 is now earlier than"}', "again", "clock"],
  [403, { date: dateOf(FAR) }, '{"error":{"type":"x","message":"Signature not yet current: 2026"}}', "again", "clock"],
  [403, { date: dateOf(FAR) }, '{"message":"you may not"}', "accept"],
  [403, { date: dateOf(FAR) }, "not JSON", "accept"],
  [403, { date: dateOf(FAR) }, "null", "accept"],
  [403, { date: dateOf(FAR), "content-encoding": "gzip" }, "", "accept"],
  // The time is right, missing or impossible.
  [403, { date: dateOf(1_000), "x-amzn-errortype": "InvalidSignatureException" }, "", "accept"],
  [403, { "x-amzn-errortype": "InvalidSignatureException" }, "", "accept"],
  [403, { date: "yesterday", "x-amzn-errortype": "InvalidSignatureException" }, "", "accept"],
  [403, { date: dateOf(FAR), age: "600", "x-amzn-errortype": "InvalidSignatureException" }, "", "accept"],
  [403, { date: dateOf(25 * 3_600_000), "x-amzn-errortype": "InvalidSignatureException" }, "", "accept"],
  [403, { "x-amzn-errortype": "ExpiredTokenException" }, "", "again", "keys"],
  [403, {}, '{"message":"The security token included in the request is expired"}', "again", "keys"],
  [403, {}, '{"Code":"InvalidClientTokenId"}', "again", "keys"],
];

test("a request is sent again if its time or its keys caused the refusal and other ones are available", () => {
  for (const [status, headers, body, expected, reason] of ANSWERS) {
    const { present, repeats } = signing();
    const { judge } = present();
    assert.ok(judge);
    const first = judge.judgeHeaders(status, (name) => headers[name], false);
    const verdict = first === "read" ? judge.judgeBody(body) : first;
    assert.equal(verdict, expected, `${status} ${JSON.stringify(headers)} ${body}`);
    if (verdict === "again") judge.onRepeat();
    assert.deepEqual(repeats, reason === undefined ? [] : [reason]);
  }
});

test("keys fetched just now are not fetched again", () => {
  const { present, dropped } = signing(false);
  const verdict = present().judge?.judgeHeaders(
    403,
    (name) => (name === "x-amzn-errortype" ? "ExpiredToken" : undefined),
    false,
  );
  assert.equal(verdict, "accept");
  assert.equal(dropped(), 1);
});

test("a clock offset that helps is kept, one that does not is undone, and one learned elsewhere is used", () => {
  const { present, changes } = signing();
  const refuse = (presented: PresentedCredential, offsetMs: number) =>
    presented.judge?.judgeHeaders(
      403,
      (name) => ({ date: dateOf(offsetMs), "x-amzn-errortype": "InvalidSignatureException" })[name],
      false,
    );
  const accept = (presented: PresentedCredential) => presented.judge?.judgeHeaders(200, () => undefined, false);
  const timeOf = ({ headers }: PresentedCredential) => headers[headers.indexOf("x-amz-date") + 1];

  const [one, two] = [present(), present()];
  assert.equal(refuse(one, FAR), "again");
  assert.equal(refuse(two, FAR), "again", "signed before the others learnt");
  assert.deepEqual(changes, [FAR]);
  const repeated = present();
  assert.equal(timeOf(repeated), "20261123T001000Z");
  accept(repeated);
  // A wrong date, such as a proxy's.
  const third = present();
  assert.equal(refuse(third, -FAR), "again");
  assert.equal(refuse(present(), -FAR), "accept", "it was of no use");
  assert.deepEqual(changes, [FAR, -FAR, FAR]);
  assert.equal(timeOf(present()), "20261123T001000Z");
});

test("answers that show the secret, the token or its header are reported", () => {
  const { containsCredential: bears } = signing().present();
  assert.ok(bears("x-debug", "a-secret-key"));
  assert.ok(bears("x-debug", "q=a-session;"));
  assert.ok(bears("x-amz-security-token", "anything") && bears("authorization", "anything"));
  assert.ok(!bears("content-type", "application/json"));
});
