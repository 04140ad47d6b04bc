import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  type AnswerEdits,
  editEvent,
  editJson,
  findField,
  replaceData,
  SseSplitter,
} from "../../../../src/server/core/dialects/index.ts";

const STREAM =
  ': keep-alive\r\n\r\nevent: a\ndata: {"x":"é"}\n\ndata:one\ndata: two\r\rid: 7\r\nevent: ping\r\ndata: {}\r\n\r\ndata: [DONE]\n\n';

function split(chunks: readonly Buffer[]) {
  const splitter = new SseSplitter();
  const events = chunks.flatMap((chunk) => splitter.push(chunk));
  return { events, rest: splitter.takeRest() };
}

test("a stream cut at any two bytes gives the same events and the same bytes", () => {
  const bytes = Buffer.from(STREAM);
  const whole = split([bytes]).events.map(({ event, data }) => ({ event, data }));
  assert.deepEqual(whole, [
    { event: "", data: undefined },
    { event: "a", data: '{"x":"é"}' },
    { event: "", data: "one\ntwo" },
    { event: "ping", data: "{}" },
    { event: "", data: "[DONE]" },
  ]);
  fc.assert(
    fc.property(fc.nat(bytes.length), fc.nat(bytes.length), (one, two) => {
      const [from, to] = one < two ? [one, two] : [two, one];
      const { events, rest } = split([bytes.subarray(0, from), bytes.subarray(from, to), bytes.subarray(to)]);
      assert.deepEqual(
        events.map(({ event, data }) => ({ event, data })),
        whole,
      );
      assert.equal(Buffer.concat([...events.map((event) => event.bytes), rest]).toString(), STREAM);
    }),
  );
});

test("at the end of a stream an event with a trailing CR is complete, and a partial one is not", () => {
  const lastOf = (text: string) => {
    const splitter = new SseSplitter();
    assert.deepEqual(splitter.push(Buffer.from(text)), []);
    const last = splitter.takeEventEndingInCr();
    return { data: last?.data, bytes: last?.bytes.toString(), rest: splitter.takeRest().toString() };
  };
  assert.deepEqual(lastOf("data: {}\r\r"), { data: "{}", bytes: "data: {}\r\r", rest: "" });
  for (const begun of ["", "data: {}", "data: {}\r", "data: {}\n", "data: {}\r\n"]) {
    assert.deepEqual(lastOf(begun), { data: undefined, bytes: undefined, rest: begun });
  }
});

test("at the end of a stream a partial event can be read and rewritten too", () => {
  const splitter = new SseSplitter();
  assert.equal(splitter.takeUnfinishedEvent(), undefined);
  for (const end of ["", "\n", "\r", "\r\n", "\r\r"]) {
    assert.deepEqual(splitter.push(Buffer.from(`: c\ndata: {"model":"real"}${end}`)), []);
    const event = splitter.takeUnfinishedEvent();
    assert.equal(event?.data, '{"model":"real"}');
    const edits: AnswerEdits = { model: { upstream: '"real"', shown: '"a"' }, hidesUsage: false };
    assert.equal(String(editEvent(event, edits)), `: c\ndata: {"model":"a"}${end}`);
    assert.ok(splitter.isEmpty);
  }
});

const edit = (text: string, edits: Partial<AnswerEdits>): string | undefined => {
  const [event] = new SseSplitter().push(Buffer.from(text));
  assert.ok(event);
  return editEvent(event, { model: undefined, hidesUsage: false, ...edits })?.toString();
};

test("an error in a field of its own is an error event, and its bytes stay", () => {
  const text = 'error: {"code":400,"message":"too long"}\n\nerror: text\n\ndata: x\nerror: {}\n\n';
  const [error, other, usual] = new SseSplitter().push(Buffer.from(text));
  assert.deepEqual([error?.event, error?.data], ["error", '{"error":{"code":400,"message":"too long"}}']);
  assert.deepEqual([other?.event, other?.data, other?.otherLines], ["", undefined, "error: text"]);
  assert.deepEqual([usual?.event, usual?.data, usual?.otherLines], ["", "x", "error: {}"]);
  assert.equal(error?.bytes.toString(), text.slice(0, text.indexOf("error: text")));
  assert.equal(error && replaceData(error, '{"error":{}}').toString(), 'event: error\ndata: {"error":{}}\n\n');
});

test("a usage report requested only by the gateway does not reach the client", () => {
  const hidesUsage = true;
  assert.equal(edit('data: {"choices":[],"usage":{"total_tokens":3}}\n\n', { hidesUsage }), undefined);
  assert.equal(
    edit('data: {"id":"1","choices":[{"index":0}],"usage":null}\n\n', { hidesUsage }),
    'data: {"id":"1","choices":[{"index":0}]}\n\n',
  );
  const withBoth = 'data: {"choices":[{"finish_reason":"stop"}],"usage":{"total_tokens":3}}\n\n';
  assert.equal(edit(withBoth, { hidesUsage }), withBoth);
  assert.equal(edit("data: [DONE]\n\n", { hidesUsage }), "data: [DONE]\n\n");
  assert.equal(edit(": comment\n\n", { hidesUsage }), ": comment\n\n");
});

test("an alias replaces the model at the top level and in message_start, and nowhere else", () => {
  const model = { upstream: '"sim-chat"', shown: '"fast"' };
  assert.equal(edit('data: {"model": "sim-chat"}\n\n', { model }), 'data: {"model": "fast"}\n\n');
  assert.equal(
    edit('event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"sim-chat"}}\n\n', { model }),
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"fast"}}\n\n',
  );
  const content = 'data: {"model":"other","choices":[{"delta":{"content":"\\"model\\":\\"sim-chat\\""}}]}\n\n';
  assert.equal(edit(content, { model }), content);
  const json = Buffer.from('{"object":"list","model":"sim-chat","data":[{"model":"sim-chat"}]}');
  assert.equal(
    editJson(json, { model, hidesUsage: false }).toString(),
    '{"object":"list","model":"fast","data":[{"model":"sim-chat"}]}',
  );
});

const form = (...parts: readonly (readonly [string, string])[]): Buffer =>
  Buffer.from(
    `${parts.map(([head, body]) => `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`).join("")}--XX--\r\n`,
  );

test("a form field is found after a file, and a file with the field's name is refused", () => {
  const bytes = form(['name="file"; filename="a.wav"', "RIFF\r\n\r\n--X"], ['name="model"', "whisper-1"]);
  const field = findField(bytes, "XX", "model");
  assert.equal(field.kind, "field");
  assert.equal(bytes.toString("utf8", field.start, field.end), "whisper-1");
  assert.equal(findField(form(['name="model"; filename="m"', "x"]), "XX", "model").kind, "problem");
});

test("a form with a duplicate model, a truncated form and a form with endless parts are refused", () => {
  assert.equal(findField(form(['name="model"', "a"], ['name="model"', "b"]), "XX", "model").kind, "problem");
  const whole = form(['name="model"', "a"]);
  for (let end = 0; end < whole.length - 4; end++) {
    assert.equal(findField(whole.subarray(0, end), "XX", "model").kind, "problem", String(end));
  }
  const many = form(...Array.from({ length: 1_001 }, () => ['name="x"', ""] as const));
  assert.equal(findField(many, "XX", "model").kind, "problem");
});
