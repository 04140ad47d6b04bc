// tier: all
/**
 * An error of a v2 inference server is a failure of the detector and never an empty result; permitted variations change
 * nothing. Source: kserve-v2 reference, "Checks on the answer".
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DetectorError } from "../../../../src/server/core/guardrails/index.ts";
import { sendBinary } from "./inference-server.ts";
import {
  answering,
  answerTo,
  type Err,
  fresh,
  headOf,
  honest,
  inBytes,
  replaced,
  served,
  server,
  TEXT,
  withAll,
  withOwn,
} from "./served-setting.ts";
import { detect, missing } from "./support.ts";

const FAULTS: readonly (readonly [string, Err, RegExp])[] = [
  ["hanging up", (_, response) => void response.socket?.destroy(), /the request to its server failed/],
  ["400", (_, response) => void response.writeHead(400).end('{"error":"Alice"}'), /answered 400 to a text$/],
  ["401", (_, response) => void response.writeHead(401).end("Alice"), /answered 401 .* refuses the credential/],
  ["404", (_, response) => void response.writeHead(404).end("Alice"), /answered 404 .* serves no model/],
  ["500", (_, response) => void response.writeHead(500).end('{"error":"Alice"}'), /answered 500 to a text$/],
  ["503", (_, response) => void response.writeHead(503).end(), /answered 503/],
  ["204", (_, response) => void response.writeHead(204).end(), /answered 204/],
  ["a redirect", (_, response) => void response.writeHead(307, { location: "/" }).end(), /answered 307/],
  ["nothing", (_, response) => answering(response, ""), /not JSON/],
  ["a page", (_, response) => answering(response, "<html>Alice"), /not JSON/],
  ["a list", (_, response) => answering(response, "[]"), /not a JSON object/],
  ["bytes that are not UTF-8", (_, response) => void response.end(Buffer.of(0x7b, 0xff, 0x7d)), /not JSON/],
  ["an error that says 200", (_, response) => answering(response, { error: "Alice" }), /without a list of outputs/],
  ["another id", withAll({ id: "g0" }), /to another request/],
  ["outputs that are no list", withAll({ outputs: {} }), /without a list/],
  ["no output", withAll({ outputs: [] }), /without the output `logits`/],
  ["an output that is null", withAll({ outputs: [null] }), /not an object/],
  ["too many outputs", withAll({ outputs: new Array(65).fill({}) }), /without a list/],
  [
    "two of other names",
    withAll(({ output }) => ({ outputs: ["a", "b"].map((name) => ({ ...output, name, data: [] })) })),
    /without the output/,
  ],
  [
    "the output twice",
    withAll(({ output }) => ({ outputs: [1, 2].map(() => ({ ...output, data: Array.from(output.data) })) })),
    /without the output/,
  ],
  ["no shape", withOwn(() => ({ shape: undefined })), /no proper shape/],
  ["a shape of texts", withOwn(({ shape }) => ({ shape: shape.map(String) })), /no proper shape/],
  ["a shape below nothing", withOwn(({ shape: [, ...more] }) => ({ shape: [-1, ...more] })), /no proper shape/],
  [
    "a shape of another number",
    withOwn(({ shape: [one = 0, ...more] }) => ({ shape: [one + 1, ...more] })),
    /as many numbers/,
  ],
  [
    "more sequences",
    withOwn(({ shape: [one = 0, ...more], data }) => ({
      shape: [2 * one, ...more],
      data: [...Array.from(data), ...Array.from(data)],
    })),
    /of the shape/,
  ],
  ["another rank", withOwn(({ data }) => ({ shape: [data.length] })), /of the shape/],
  ["an empty output", withOwn(() => ({ shape: [0, 0], data: [] })), /of the shape/],
  ["a type of numbers that no score has", withOwn(() => ({ datatype: "INT64" })), /of the type INT64/],
  ["no type", withOwn(() => ({ datatype: undefined })), /of the type of no name/],
  ["half precision in JSON", withOwn(() => ({ datatype: "FP16" })), /of the type FP16/],
  ["no data", withOwn(() => ({ data: undefined })), /no data/],
  ["data that are a text", withOwn(() => ({ data: "AAAA" })), /no data/],
  ["a number fewer", withOwn(({ data }) => ({ data: Array.from(data).slice(1) })), /as many numbers/],
  ["null", withOwn((output) => replaced(output, null)), /not a number/],
  ["a text", withOwn((output) => replaced(output, "0.5")), /not a number/],
  ["a truth value", withOwn((output) => replaced(output, true)), /not a number/],
  [
    "NaN",
    (inferred, response) =>
      answering(response, JSON.stringify(answerTo(inferred)).replace(/"data":\[[^,\]]*/, '"data":[NaN')),
    /not JSON/,
  ],
  [
    "more than a number holds",
    (inferred, response) =>
      answering(response, JSON.stringify(answerTo(inferred)).replace(/"data":\[[^,\]]*/, '"data":[1e999')),
    /a value that is not a number/,
  ],
  [
    "more than a float holds",
    withOwn((output) => ({ ...replaced(output, 1e300), datatype: "FP64" })),
    /a value that is not a number/,
  ],
  [
    "cut off",
    (inferred, response) => {
      response.writeHead(200, { "content-length": 10_000 }).write(JSON.stringify(answerTo(inferred)).slice(0, 40));
      setImmediate(() => response.socket?.destroy());
    },
    /the request to its server failed/,
  ],
  [
    "half an answer",
    (inferred, response) => answering(response, JSON.stringify(answerTo(inferred)).slice(0, 60)),
    /not JSON/,
  ],
  ["without end", (_, response) => answering(response, " ".repeat(1 << 20)), /longer than \d+ bytes/],
  [
    "compressed",
    (_, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end("x"),
    /compresses answers/,
  ],
  [
    "bytes that are cut short",
    inBytes((one, bytes, response) => sendBinary(response, headOf(one, bytes.length), bytes.subarray(1))),
    /cut short/,
  ],
  [
    "bytes too many",
    inBytes((one, bytes, response) => sendBinary(response, headOf(one, bytes.length), Buffer.concat([bytes, bytes]))),
    /more bytes/,
  ],
  [
    "fewer numbers in bytes",
    inBytes((one, bytes, response) => sendBinary(response, headOf(one, bytes.length - 4), bytes.subarray(4))),
    /as many numbers/,
  ],
  [
    "a size below nothing",
    inBytes((one, bytes, response) => sendBinary(response, headOf(one, -1), bytes)),
    /cut short/,
  ],
  [
    "a size that is a text",
    inBytes((one, bytes, response) => sendBinary(response, headOf(one, "4"), bytes)),
    /cut short/,
  ],
  [
    "data twice",
    inBytes((one, bytes, response) => sendBinary(response, headOf(one, bytes.length, { data: [1] }), bytes)),
    /given twice/,
  ],
  [
    "a head longer than the answer",
    inBytes((one, bytes, response) => sendBinary(response, headOf(one, bytes.length), bytes, 100_000)),
    /Content-Length` is wrong/,
  ],
  [
    "a head of nothing",
    inBytes((one, bytes, response) => sendBinary(response, headOf(one, bytes.length), bytes, 0)),
    /not JSON/,
  ],
  [
    "NaN in bytes",
    inBytes((one, bytes, response) => {
      bytes.writeFloatLE(Number.NaN, 0);
      sendBinary(response, headOf(one, bytes.length), bytes);
    }),
    /a value that is not a number/,
  ],
  [
    "integers in bytes",
    inBytes((one, bytes, response) => sendBinary(response, headOf(one, bytes.length, { datatype: "INT32" }), bytes)),
    /of the type INT32/,
  ],
];

test("any server error is a failure of the detector and never an empty result", {
  skip: missing,
  timeout: 60_000,
}, async () => {
  const detector = await fresh(served("classify", { timeout: "5s" }));
  const [expected] = await detect(detector, [TEXT]);
  assert.ok((expected ?? []).length > 0);
  for (const [name, err, message] of FAULTS) {
    server.err = err;
    await assert.rejects(
      detect(detector, [TEXT]),
      (error) => {
        assert.ok(error instanceof DetectorError && error.kind === "failed", name);
        assert.match(error.message, message, name);
        assert.doesNotMatch(error.message, /Alice/, name);
        return true;
      },
      name,
    );
    server.err = honest.err;
    assert.deepEqual(await detect(detector, [TEXT]), [expected], `after ${name}`);
  }
});

/** Permitted variations of a server. */
const MANNERS: readonly (readonly [string, Err])[] = [
  ["no id", withAll({ id: undefined })],
  ["null members beside", withAll({ parameters: null, model_version: null })],
  ["the only output under another name", withOwn(() => ({ name: "output_0" }))],
  ["nested data", withOwn(({ shape: [, width = 1], data }) => ({ data: rowsOf(Array.from(data, Number), width) }))],
  ["double precision", withOwn(() => ({ datatype: "FP64" }))],
  [
    "another output before it",
    withAll(({ output }) => ({
      outputs: [
        { name: "other", datatype: "INT64", shape: [1], data: [1] },
        { ...output, data: Array.from(output.data) },
      ],
    })),
  ],
  [
    "double precision in bytes, behind another output",
    (inferred, response) => {
      const { id, output } = inferred;
      const doubles = Buffer.from(Float64Array.from(output.data, Number).buffer);
      const sized = (size: number): object => ({ parameters: { binary_data_size: size } });
      const outputs = [
        { name: "other", datatype: "BYTES", shape: [1], ...sized(5) },
        { name: output.name, shape: output.shape, datatype: "FP64", ...sized(doubles.length) },
      ];
      sendBinary(response, JSON.stringify({ id, outputs }), Buffer.concat([Buffer.from("\u0001\0\0\0a"), doubles]));
    },
  ],
];

const rowsOf = (numbers: readonly number[], width: number): readonly (readonly number[])[] =>
  Array.from({ length: numbers.length / width }, (_, row) => numbers.slice(row * width, (row + 1) * width));

test("permitted server variations change nothing", { skip: missing }, async () => {
  const detector = await fresh(served("classify"));
  const expected = await detect(detector, [TEXT]);
  for (const [name, err] of MANNERS) {
    server.err = err;
    assert.deepEqual(await detect(detector, [TEXT]), expected, name);
  }
});

test("half precision in binary is close enough", { skip: missing }, async () => {
  const detector = await fresh(served("classify"));
  const expected = (await detect(detector, [TEXT]))[0] ?? [];
  /** Returns the upper half of a float. */
  const brain = (value: number): number => new DataView(Float32Array.of(value).buffer).getUint32(0, true) >>> 16;
  server.err = inBytes((one, _, response) => {
    const bytes = Buffer.from(Uint16Array.from(Array.from(one.output.data, Number), brain).buffer);
    sendBinary(response, headOf(one, bytes.length, { datatype: "BF16" }), bytes);
  });
  const found = (await detect(detector, [TEXT]))[0] ?? [];
  assert.deepEqual(
    found.map(({ label }) => label),
    expected.map(({ label }) => label),
  );
  for (const [index, { score }] of found.entries()) {
    assert.ok(Math.abs(score - (expected[index]?.score ?? 0)) < 0.02);
  }
});

/** Metadata of the server and of the model, before the first text is read. */
const METADATA: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
  ["no inputs", { inputs: [] }, /does not say which inputs/],
  ["inputs that are null", { inputs: null }, /does not say which inputs/],
  [
    "an input of text",
    { inputs: [{ name: "text", datatype: "BYTES", shape: [-1] }] },
    /no input `input_ids` \(its inputs: `text`\)/,
  ],
  ["an input without a name", { inputs: [{ datatype: "INT64", shape: [-1, -1] }] }, /without a proper name/],
  [
    "a shape of texts",
    { inputs: [{ name: "input_ids", datatype: "INT64", shape: ["-1"] }] },
    /no shape of `input_ids`/,
  ],
  [
    "floats for ids",
    { inputs: [{ name: "input_ids", datatype: "FP32", shape: [-1, -1] }] },
    /of type float32, not int64/,
  ],
  [
    "short sequences",
    { inputs: [{ name: "input_ids", datatype: "INT64", shape: [-1, 8] }] },
    /takes sequences of 8 tokens: set `max_tokens`/,
  ],
  [
    "scores for tokens",
    { outputs: [{ name: "logits", datatype: "FP32", shape: [-1, -1, 3] }] },
    /no scores for the text/,
  ],
  [
    "texts as output",
    { outputs: [{ name: "logits", datatype: "BYTES", shape: [-1, 3] }] },
    /of type BYTES, not of floats/,
  ],
  [
    "another number of labels",
    { outputs: [{ name: "logits", datatype: "FP32", shape: [-1, 7] }] },
    /scores 7 labels, and 3/,
  ],
];

test("a model that does not match is reported in a sentence and queried again later", { skip: missing }, async () => {
  for (const [name, metadata, message] of METADATA) {
    server.metadata = metadata;
    const detector = await fresh(served("classify"));
    const before = server.requests.length;
    for (let turn = 0; turn < 3; turn++) {
      await assert.rejects(
        detect(detector, [TEXT]),
        (error) => error instanceof DetectorError && message.test(error.message),
        name,
      );
    }
    assert.ok(server.requests.length - before <= 4, `${name}: ${server.requests.length - before} calls`);
  }
});
