/** The simulated cloud's signature check, against the published suite's values. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { signatureFault } from "../../src/simulator/aws-signature.ts";

interface Row {
  readonly name: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  readonly normalized: boolean;
  readonly bodySigned: boolean;
  readonly token?: string;
  readonly tokenSigned?: boolean;
  readonly signature: string;
}

const ROWS: readonly Row[] = JSON.parse(
  readFileSync(new URL("../data/credentials/sigv4.json", import.meta.url), "utf8"),
);
const TIME = "20150830T123600Z";
const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const wire = (text: string): string => Buffer.from(text).toString("latin1");

/** The request as it would arrive, with the suite's own signature. */
function arrived(row: Row): IncomingMessage {
  const pairs: (readonly [string, string])[] = row.headers.map(([name, value]) => [name, wire(value)]);
  pairs.push(["X-Amz-Date", TIME]);
  if (row.token !== undefined && row.tokenSigned) pairs.push(["X-Amz-Security-Token", row.token]);
  const names = [...new Set(pairs.map(([name]) => name.toLowerCase()))].sort().join(";");
  const scope = "AKIDEXAMPLE/20150830/us-east-1/service/aws4_request";
  const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=${names}, Signature=${row.signature}`;
  const headers = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]));
  return {
    method: row.method,
    url: wire(row.target),
    rawHeaders: pairs.flat(),
    headers: { ...headers, authorization },
  } as unknown as IncomingMessage;
}

test("the simulator accepts exactly the signatures of the suite", () => {
  const rows = ROWS.filter(
    ({ normalized, bodySigned, tokenSigned = true }) => normalized && !bodySigned && tokenSigned,
  );
  assert.ok(rows.length >= 25, String(rows.length));
  for (const row of rows) {
    const key = { secret: SECRET, ...(row.token !== undefined && { sessionToken: row.token }) };
    const rules = { keyOf: () => key, now: () => Date.UTC(2015, 7, 30, 12, 40) };
    assert.equal(signatureFault(arrived(row), Buffer.from(row.body), rules), undefined, row.name);
    const other = signatureFault(arrived(row), Buffer.from(`${row.body} `), rules);
    assert.equal(other?.type, "InvalidSignatureException", row.name);
    const late = { ...rules, now: () => Date.UTC(2015, 7, 30, 12, 42) };
    assert.match(signatureFault(arrived(row), Buffer.from(row.body), late)?.message ?? "", /^Signature expired/);
  }
});
