/** The detector `remote` with a test server. Source: specification document 3; presidio-analyze reference. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import type { DetectorConfig } from "../../../../src/server/core/config/index.ts";
import { type Detection, type Detector, DetectorError } from "../../../../src/server/core/guardrails/index.ts";
import { createRemoteDetector } from "../../../../src/server/detectors/remote/remote-detector.ts";
import { createEndpoints } from "../../../../src/server/detectors/wire/index.ts";
import { scannedOf } from "../scanned.ts";
import { personsIn, startAnalyzer } from "./analyzer.ts";

const analyzer = await startAnalyzer({ after });
const endpoints = createEndpoints();

type Own = Partial<NonNullable<DetectorConfig["remote"]>>;

const configOf = (own: Own = {}, common: Partial<DetectorConfig> = {}): DetectorConfig => ({
  type: "remote",
  prefilter: "native",
  mode: "inline",
  schedule: "sync",
  role: "discover",
  on_error: "fail_open",
  remote: {
    endpoint: analyzer.url,
    path: "/analyze",
    language: "en",
    concurrency: 4,
    category: "pii",
    offsets: "chars",
    ...own,
  },
  ...common,
});

function built(own?: Own, common?: Partial<DetectorConfig>, using = endpoints): Detector {
  const made = createRemoteDetector(configOf(own, common), "analyzer", { endpoints: using });
  assert.ok(made.kind === "detector");
  return made.detector;
}

const detect = async (detector: Detector, texts: readonly string[], limit = 10_000): Promise<Detection> =>
  await detector.detect(
    texts.map((text) => scannedOf(text)),
    [],
    AbortSignal.timeout(limit),
  );

const found = (detection: Detection, texts: readonly string[]) =>
  detection.map((all, at) => all.map(({ start, end, label }) => `${label}=${texts[at]?.slice(start, end)}`));

test("the published exchange is sent and its answer is read", async () => {
  analyzer.answer = () =>
    JSON.parse(`[{"analysis_explanation":null,"end":29,"entity_type":"PHONE_NUMBER","score":0.75,"start":17},
      {"analysis_explanation":null,"end":13,"entity_type":"PERSON","score":0.6499999999999999,"start":5}]`);
  const text = "Call Jane Doe on 212-555-0100";
  const detector = built(
    { headers: { "X-Api-Key": "k" }, endpoint: `${analyzer.url}/presidio/`, language: "de" },
    {
      entities: ["PERSON", "PHONE_NUMBER"],
      threshold: 0.4,
    },
  );
  const [findings = []] = await detect(detector, [text]);
  assert.deepEqual(
    findings.map(({ label, category, score, start, end }) => ({
      label,
      category,
      score,
      text: text.slice(start, end),
    })),
    [
      { label: "PERSON", category: "pii", score: 0.6499999999999999, text: "Jane Doe" },
      { label: "PHONE_NUMBER", category: "pii", score: 0.75, text: "212-555-0100" },
    ],
  );
  const sent = analyzer.received.at(-1);
  assert.equal(sent?.path, "/presidio/analyze");
  assert.equal(sent.headers["x-api-key"], "k");
  assert.match(String(sent.headers["content-type"]), /^application\/json/);
  assert.deepEqual(sent.body, {
    text,
    language: "de",
    entities: ["PERSON", "PHONE_NUMBER"],
    score_threshold: 0.4,
  });
});

test("unconfigured fields are not sent, and unrequested types are not reported", async () => {
  analyzer.answer = personsIn({ Jane: "PERSON", Bonn: "LOCATION" });
  const text = "Jane of Bonn";
  assert.deepEqual(found(await detect(built(), [text]), [text]), [["PERSON=Jane", "LOCATION=Bonn"]]);
  assert.deepEqual(analyzer.received.at(-1)?.body, { text, language: "en" });
  assert.deepEqual(found(await detect(built({}, { entities: ["LOCATION"] }), [text]), [text]), [["LOCATION=Bonn"]]);
});

test("offsets in code points, bytes and UTF-16 units name the same place; an answer may say which it uses", async () => {
  const text = "é👍 Bob\u{1f600}!";
  const of = { chars: [3, 6], utf16: [4, 7], bytes: [7, 10] } as const;
  for (const unit of ["chars", "utf16", "bytes"] as const) {
    const [from, to] = of[unit];
    analyzer.answer = () => [{ entity_type: "PERSON", start: from, end: to, score: 0.9 }];
    assert.deepEqual(found(await detect(built({ offsets: unit }), [text]), [text]), [["PERSON=Bob"]], unit);
    analyzer.answer = () => [
      { entity_type: "PERSON", start: 3, end: 6, score: 0.9 },
      {
        entity_type: "NRP",
        start: from,
        end: to,
        score: 0.9,
        recognition_metadata: { recognizer_name: "x", "gateway.offsets": unit },
      },
    ];
    assert.deepEqual(found(await detect(built(), [text]), [text]), [["PERSON=Bob", "NRP=Bob"]], unit);
  }
});

test("a lone surrogate counts as one character on both sides", async () => {
  analyzer.answer = personsIn({ Bob: "PERSON" });
  const text = "\ud83d Bob \udc4d";
  assert.deepEqual(found(await detect(built(), [text]), [text]), [["PERSON=Bob"]]);
  assert.equal(analyzer.received.at(-1)?.body["text"], "\ufffd Bob \ufffd");
});

test("whitespace at the ends of a finding is trimmed, and a text of whitespace is not sent", async () => {
  analyzer.answer = () => [
    { entity_type: "PERSON", start: 0, end: 7, score: 1.0000001 },
    { entity_type: "PERSON", start: 0, end: 2, score: 0.5 },
  ];
  const text = "\u00a0\n Bob\u3000.";
  const before = analyzer.received.length;
  const detection = await detect(built(), [text, " \n\t"]);
  assert.deepEqual(found(detection, [text, ""]), [["PERSON=Bob"], []]);
  assert.equal(detection[0]?.[0]?.score, 1);
  assert.equal(analyzer.received.length, before + 1);
});

test("windows of a confirming detector are sent separately, and their findings are mapped to the text", async () => {
  analyzer.answer = personsIn({ Bob: "PERSON" });
  const text = "…… Bob …… Bob";
  const [findings = []] = await built().detect(
    [
      scannedOf(text, [
        { start: 2, end: 7 },
        { start: 9, end: 13 },
      ]),
    ],
    [],
    AbortSignal.timeout(10_000),
  );
  assert.deepEqual(
    findings.map(({ start, end }) => [start, end]),
    [
      [3, 6],
      [10, 13],
    ],
  );
});

const SECRET = "Margarethe Blau";
const entry = { entity_type: "PERSON", start: 0, end: 4, score: 0.5 };
const MALFORMED: readonly (readonly [name: string, answer: unknown])[] = [
  ["empty", ""],
  ["no JSON", "<html>"],
  ["cut off", `[{"entity_type":"PERSON","start":0,"en`],
  ["not UTF-8", Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d])],
  ["not finite", `[{"entity_type":"PERSON","start":0,"end":4,"score":NaN}]`],
  ["null", "null"],
  ["an object", {}],
  ["an error with status 200", { error: SECRET }],
  ["a list for each text", [[entry]]],
  ["a text in the list", [SECRET]],
  ["no type", [{ ...entry, entity_type: undefined }]],
  ["a type that is a text", [{ ...entry, entity_type: SECRET }]],
  ["an empty type", [{ ...entry, entity_type: "" }]],
  ["a long type", [{ ...entry, entity_type: "A".repeat(65) }]],
  ["no start", [{ ...entry, start: undefined }]],
  ["a start before the text", [{ ...entry, start: -1 }]],
  ["a start that is a text", [{ ...entry, start: "0" }]],
  ["a fraction", [{ ...entry, end: 3.5 }]],
  ["an end behind the text", [{ ...entry, end: 999 }]],
  ["an end at the start", [{ ...entry, end: 0 }]],
  ["an end before the start", [{ ...entry, start: 4, end: 2 }]],
  ["no score", [{ ...entry, score: undefined }]],
  ["a score that is a text", [{ ...entry, score: "0.9" }]],
  ["an unknown unit", [{ ...entry, recognition_metadata: { "gateway.offsets": "runes" } }]],
  ["an offset within a pair", [{ ...entry, end: 17, recognition_metadata: { "gateway.offsets": "utf16" } }]],
  ["an offset within a character", [{ ...entry, end: 17, recognition_metadata: { "gateway.offsets": "bytes" } }]],
  ["one good and one bad", [entry, { ...entry, end: 999 }]],
  ["512 types and more", Array.from({ length: 513 }, (_, at) => ({ ...entry, entity_type: `T${at}` }))],
];

test("an answer that is not fully understood is an error that quotes none of it", async () => {
  for (const [name, answer] of MALFORMED) {
    analyzer.answer = () => answer;
    await assert.rejects(detect(built(), [`${SECRET} 👍`]), (error) => {
      assert.ok(error instanceof DetectorError, name);
      assert.equal(error.kind, "failed", name);
      assert.doesNotMatch(error.message, /Margarethe|Blau|runes|html/, name);
      return true;
    });
  }
});

test("any other status and redirects are errors, and the text of neither is quoted", async () => {
  for (const status of [201, 204, 302, 400, 401, 404, 415, 429, 500, 503]) {
    analyzer.answer = (_, response) => {
      response.writeHead(status, { "content-type": "application/json", location: analyzer.url });
      response.end(status === 204 ? undefined : JSON.stringify({ error: SECRET }));
    };
    await assert.rejects(detect(built(), [SECRET]), { message: `its server answered ${status}` });
  }
});

test("an answer is limited in bytes, findings and encodings", async () => {
  analyzer.answer = (_, response) => {
    response.write("[");
    const more = (): void => {
      while (!response.destroyed && response.write(" ".repeat(1 << 16)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  };
  await assert.rejects(detect(built(), ["text"]), { message: "its server's answer is longer than 8388608 bytes" });
  analyzer.answer = () => `[${"0,".repeat(200_000)}0]`;
  await assert.rejects(detect(built(), ["text"]), { kind: "excess" });
  analyzer.answer = (_, response) => {
    response.setHeader("content-encoding", "gzip");
    return [];
  };
  await assert.rejects(detect(built(), ["text"]), /compresses answers/);
});

test("a request runs at most `concurrency` calls, and the first failure ends them", async () => {
  const texts = Array.from({ length: 24 }, (_, at) => `text ${at}`);
  let release: (() => void) | undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  analyzer.answer = async () => {
    if (analyzer.inFlight.now === 3) release?.();
    await gate;
    return [];
  };
  const countBefore = analyzer.received.length;
  analyzer.inFlight.most = 0;
  await detect(built({ concurrency: 3 }), texts);
  assert.deepEqual([analyzer.inFlight.most, analyzer.received.length - countBefore], [3, 24]);
  analyzer.answer = ({ body }, response) => {
    if (body["text"] === "text 0") response.writeHead(500).end();
  };
  const from = analyzer.received.length;
  await assert.rejects(detect(built({ concurrency: 3 }), texts), { message: "its server answered 500" });
  assert.ok(analyzer.received.length - from <= 4, `${analyzer.received.length - from} calls`);
});

test("an aborted request ends its call and rejects with the reason", async () => {
  const ending = new AbortController();
  const closed = new Promise<void>((resolve) => {
    analyzer.answer = (_, response) => {
      response.once("close", resolve);
      ending.abort(new DetectorError("timeout", "it took longer than 1 ms"));
    };
  });
  await assert.rejects(async () => await built().detect([scannedOf("text")], [], ending.signal), {
    kind: "timeout",
    message: "it took longer than 1 ms",
  });
  await closed;
});

test("above a server's concurrency calls wait, and above the queue limit they are refused", async () => {
  const own = createEndpoints();
  let release: (() => void) | undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  analyzer.answer = async () => {
    await gate;
    return [];
  };
  const detector = built({}, {}, own);
  const waiting = Array.from({ length: 320 }, (_, at) => detect(detector, [`text ${at}`]));
  await assert.rejects(detect(detector, ["one more"]), { kind: "overloaded" });
  release?.();
  assert.equal((await Promise.all(waiting)).length, 320);
  await detect(detector, ["and one later"]);
});

test("a connection that ends before any byte of an answer is retried once, and one that ends later is not", async () => {
  let calls = 0;
  analyzer.answer = (_, response) => {
    calls++;
    if (calls > 1) return [];
    response.socket?.destroy();
    return undefined;
  };
  assert.deepEqual(await detect(built(), ["text"]), [[]]);
  assert.equal(calls, 2);
  calls = 0;
  analyzer.answer = (_, response) => {
    calls++;
    response.socket?.destroy();
  };
  await assert.rejects(
    detect(built(), ["text"]),
    /the request to its server failed: the connection ended unexpectedly/,
  );
  assert.equal(calls, 2);
  calls = 0;
  analyzer.answer = (_, response) => {
    calls++;
    response.writeHead(200, { "content-length": "100" });
    response.write("[");
    setImmediate(() => response.socket?.destroy());
  };
  await assert.rejects(detect(built(), ["text"]), /the request to its server failed/);
  assert.equal(calls, 1);
});

test("an unreachable server is reported in a sentence", async () => {
  const gone = await startAnalyzer({ after: (end) => end() });
  await assert.rejects(detect(built({ endpoint: gone.url }), ["text"]), {
    kind: "failed",
    message: "the request to its server failed: nothing listens there",
  });
  await assert.rejects(detect(built({ endpoint: "http://nowhere.invalid" }), ["text"]), /its name does not resolve/);
});

test("connections are kept across reloads, and closed once no configuration uses them", async () => {
  const own = createEndpoints({ idleMs: 20 });
  const other = await startAnalyzer({ after });
  other.answer = (_, response) => {
    response.setHeader("connection", "keep-alive");
    response.setHeader("keep-alive", "timeout=60");
    return [];
  };
  const { origin } = new URL(other.url);
  own.keep(new Set([origin]));
  await detect(built({ endpoint: other.url }, {}, own), ["text"]);
  own.keep(new Set([origin]));
  // A connection is free one turn after its answer.
  await new Promise(setImmediate);
  await detect(built({ endpoint: other.url, language: "de" }, {}, own), ["text"]);
  assert.equal(other.connections(), 1);
  const closed = new Promise<void>((resolve) => {
    other.answer = (_, response) => {
      if (response.socket !== null) void once(response.socket, "close").then(() => resolve());
      return [];
    };
  });
  await detect(built({ endpoint: other.url }, {}, own), ["text"]);
  own.keep(new Set());
  await closed;
});

test("a fingerprint changes with everything that affects findings, and contains no credential", () => {
  const of = (own?: Own, common?: Partial<DetectorConfig>): string => built(own, common).fingerprint;
  const others = [
    of({ endpoint: "http://other:1" }),
    of({ path: "/v2/analyze" }),
    of({ language: "de" }),
    of({ offsets: "bytes" }),
    of({ category: "custom" }),
    of({ headers: { "x-tenant": "a" } }),
    of({ headers: { "x-tenant": "b" } }),
    of({}, { entities: ["PERSON"] }),
    of({}, { threshold: 0.4 }),
  ];
  assert.equal(new Set([of(), ...others]).size, others.length + 1);
  assert.equal(of({ headers: { authorization: "Bearer a" } }), of({ headers: { authorization: "Bearer b" } }));
});

test("an impossible configuration is refused with its path, and values are not quoted", () => {
  const refused = (own: Own) => {
    const made = createRemoteDetector(configOf(own), "analyzer", { endpoints });
    assert.ok(made.kind === "refused", JSON.stringify(own));
    return made.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
  };
  assert.deepEqual(refused({ endpoint: `${analyzer.url}/?key=1` }), [
    "remote.endpoint: the root URL of a server must not have a query or fragment",
  ]);
  assert.deepEqual(refused({ category: "names" }), [
    "remote.category: the namespaces are pii, secret, injection, topic, safety, custom",
  ]);
  const headers = { Host: "a", "X-A": "b\r\nx-injected: 1", "bad name": "c", "X-B": "1", "x-b": "2" };
  assert.deepEqual(refused({ headers }), [
    "remote.headers.Host: only the gateway sets this header",
    "remote.headers.X-A: the value contains characters that are not allowed in a header",
    "remote.headers.bad name: this is not a header name (RFC 9110 section 5.1)",
    "remote.headers.x-b: this header is named twice",
  ]);
});
