/** Sources of a text as annotations of a response, from either dialect, whole and streamed. Source: responses reference, 6.1. */
import assert from "node:assert/strict";
import test from "node:test";
import { responsesReading } from "../../../../../src/server/core/dialects/translate/to-responses/answer-to-response.ts";
import { begin, call, DONE, end, over, piece, START, STOP, say } from "./to-responses-answer-sources.ts";
import {
  bytesOf,
  eventsOf,
  responseOf,
  type Sent,
  type Source,
  STAMP,
  termsOf,
  translate,
} from "./to-responses-answer-support.ts";

type Values = Readonly<Record<string, unknown>>;

const page = (name: string): object => ({
  type: "web_search_result_location",
  url: `https://${name}.test/`,
  title: name,
  encrypted_index: "e",
  cited_text: "quoted",
});
const citing = (citation: object): object => ({ type: "citations_delta", citation });
const urlCitation = (name: string, start_index: number, end_index: number): object => ({
  type: "url_citation",
  start_index,
  end_index,
  title: name,
  url: `https://${name}.test/`,
});
const annotated = (name: string, start_index: number, end_index: number): object => ({
  type: "url_citation",
  url_citation: { title: name, url: `https://${name}.test/`, start_index, end_index },
});

const annotationsOf = (response: Values = assert.fail()): readonly unknown[] =>
  (response["output"] as readonly Values[])
    .flatMap((item) => (item["content"] ?? []) as readonly Values[])
    .map((part) => part["annotations"]);

interface Case {
  readonly from: Source;
  readonly given: readonly Sent[];
  readonly expect: readonly (readonly object[])[];
}

const CASES: Readonly<Record<string, Case>> = {
  "citations before, within and after a text": {
    from: "messages",
    given: [
      START,
      begin(0, { type: "text", text: "", citations: [] }),
      piece(0, citing(page("a"))),
      piece(0, { type: "text_delta", text: "𝒜 " }),
      piece(0, citing(page("b"))),
      piece(0, { type: "text_delta", text: "it" }),
      piece(0, citing(page("c"))),
      end(0),
      over("end_turn"),
      STOP,
    ],
    expect: [[urlCitation("a", 0, 4), urlCitation("b", 0, 4), urlCitation("c", 0, 4)]],
  },
  "each block has its own citations": {
    from: "messages",
    given: [
      START,
      begin(0, { type: "text", text: "one", citations: [page("a")] }),
      end(0),
      begin(1, { type: "text", text: "two", citations: null }),
      end(1),
      begin(2, { type: "text", text: "three", citations: [page("b"), page("c")] }),
      end(2),
      over("end_turn"),
      STOP,
    ],
    expect: [[urlCitation("a", 0, 3)], [], [urlCitation("b", 0, 5), urlCitation("c", 0, 5)]],
  },
  "citations of another kind, or without an address": {
    from: "messages",
    given: [
      START,
      begin(0, { type: "text", text: "one", citations: [{ type: "char_location", cited_text: "x" }] }),
      piece(0, citing({ type: "web_search_result_location" })),
      piece(0, citing({ ...page("a"), title: null })),
      end(0),
      over("end_turn"),
      STOP,
    ],
    expect: [[{ ...urlCitation("a", 0, 3), title: "" }]],
  },
  "annotations of a chat, all at the end": {
    from: "chat",
    given: [
      say({ content: "one " }),
      say({ content: "two" }),
      say({ annotations: [annotated("a", 0, 3), annotated("b", 4, 7)] }),
      say({}, "stop"),
      DONE,
    ],
    expect: [[urlCitation("a", 0, 3), urlCitation("b", 4, 7)]],
  },
  "annotations of a chat beside its text and its end": {
    from: "chat",
    given: [
      say({ content: "one", annotations: [annotated("a", 0, 3)] }),
      say({ content: " two", annotations: [{ type: "file_citation", file_citation: {} }, { type: "url_citation" }] }),
      say({ annotations: [annotated("b", 4, 7)] }, "stop"),
      DONE,
    ],
    expect: [[urlCitation("a", 0, 3), urlCitation("b", 4, 7)]],
  },
  "annotations before the text, whose offsets are counted in it": {
    from: "chat",
    given: [
      say({ role: "assistant", content: "", annotations: [annotated("a", 0, 3)] }),
      say({ content: "one" }),
      say({ annotations: [annotated("b", 0, 1)] }, "stop"),
      DONE,
    ],
    expect: [[urlCitation("a", 0, 3), urlCitation("b", 0, 1)]],
  },
  "annotations of a text that waits for a call to end": {
    from: "chat",
    given: [
      say(call(0, "c", "f", '{"a"')),
      say({ content: "one" }),
      say({ annotations: [annotated("a", 0, 3)] }),
      say(call(0, undefined, undefined, ":1}")),
      say({ content: " two" }),
      say({}, "tool_calls"),
      DONE,
    ],
    expect: [[urlCitation("a", 0, 3)]],
  },
  "annotations without offsets": {
    from: "chat",
    given: [
      say({ annotations: ["odd", null] }),
      say({ content: "one" }),
      say({
        annotations: [{ type: "url_citation", url_citation: { url: "https://a.test/", title: "a" } }, "odd", null],
      }),
      say(call(0, "c", "f", "{}")),
      say({}, "tool_calls"),
      DONE,
    ],
    expect: [[urlCitation("a", 0, 3)]],
  },
};

for (const [what, { from, given, expect }] of Object.entries(CASES)) {
  test(`${what}: the events agree with the response`, () => {
    const { frames, problem } = translate(from, [bytesOf(given)], termsOf());
    assert.equal(problem, undefined);
    assert.deepEqual(annotationsOf(responseOf(frames)), expect);
    const events = eventsOf(frames) as readonly Values[];
    const added = events.filter(({ type }) => type === "response.output_text.annotation.added");
    assert.deepEqual(
      added.map(({ content_index, annotation_index, annotation }) => [content_index, annotation_index, annotation]),
      expect.flatMap((annotations, part) => annotations.map((annotation, at) => [part, at, annotation])),
    );
    for (const event of added) {
      const done = events.find(
        (each) => each["type"] === "response.output_text.done" && each["content_index"] === event["content_index"],
      );
      assert.ok(Number(event["sequence_number"]) < Number(done?.["sequence_number"]), "an annotation precedes the end");
    }
  });
}

test("a whole answer has the annotations of its parts", () => {
  const blocks = [
    { type: "text", text: "one", citations: [page("a")] },
    { type: "text", text: "two" },
  ];
  const message = { type: "message", role: "assistant", content: blocks, stop_reason: "end_turn" };
  const read = (from: Source, answer: object): Values =>
    JSON.parse(responsesReading(from, termsOf()).translateWhole(JSON.stringify(answer), STAMP, false)) as Values;
  assert.deepEqual(annotationsOf(read("messages", message)), [[urlCitation("a", 0, 3)], []]);
  const chat = { role: "assistant", content: "one", annotations: [annotated("b", 0, 3)] };
  const completion = { choices: [{ index: 0, message: chat, finish_reason: "stop" }] };
  assert.deepEqual(annotationsOf(read("chat", completion)), [[urlCitation("b", 0, 3)]]);
});

const LATE: Readonly<Record<string, readonly Sent[]>> = {
  "with the call": [say({ ...call(0, "c", "f", "{}"), annotations: [annotated("b", 0, 3)] })],
  "after the call": [say(call(0, "c", "f", "{}")), say({ annotations: [annotated("b", 0, 3)] })],
  "within the call": [
    say(call(0, "c", "f", '{"a"')),
    say({ annotations: [annotated("b", 0, 3)] }),
    say(call(0, undefined, undefined, ":1}")),
  ],
  "with the end": [say(call(0, "c", "f", "{}")), say({ annotations: [annotated("b", 0, 3)] }, "tool_calls")],
  "after a refusal": [say({ refusal: "no" }), say({ annotations: [annotated("b", 0, 3)] })],
};

for (const [what, given] of Object.entries(LATE)) {
  test(`an annotation ${what} belongs to the text before, which has ended`, () => {
    const bytes = bytesOf([
      say({ content: "one", annotations: [annotated("a", 0, 1)] }),
      ...given,
      say({}, "tool_calls"),
      DONE,
    ]);
    const remembered = new Map<string, string>();
    const stamp = { ...STAMP, remember: (id: string, item: string) => void remembered.set(id, item) };
    const { frames, problem } = translate("chat", [bytes], termsOf(), stamp);
    assert.equal(problem, undefined);
    const response = responseOf(frames) ?? assert.fail();
    const expected = [urlCitation("a", 0, 1), urlCitation("b", 0, 3)];
    assert.deepEqual(annotationsOf(response)[0], expected);
    const added = (eventsOf(frames) as readonly Values[]).filter(({ type }) =>
      String(type).endsWith("annotation.added"),
    );
    assert.deepEqual(
      added.map(({ annotation }) => annotation),
      expected,
    );
    const [first] = response["output"] as readonly Values[];
    assert.deepEqual(JSON.parse(remembered.get(String(first?.["id"])) ?? ""), first);
  });
}

const PAGES = {
  citations: ["https://a.example", "https://b.example"],
  search_results: [{ title: "A", url: "https://a.example" }],
};
const sourceOf = (url: string, title: string, end: number): Values => ({
  type: "url_citation",
  start_index: 0,
  end_index: end,
  title,
  url,
});
const SOURCED = [sourceOf("https://a.example", "A", 6), sourceOf("https://b.example", "", 6)];

/** Answers whose sources stand beside the choices, as chunks. */
const WITH_SOURCES: Readonly<Record<string, { readonly given: readonly Sent[]; readonly expect: readonly unknown[] }>> =
  {
    "in the last chunk": { given: [say({ content: "one[1]" }), { ...say({}, "stop"), ...PAGES }], expect: SOURCED },
    "in each chunk, and more in the last one": {
      given: [
        { ...say({ content: "one" }), citations: PAGES.citations.slice(0, 1) },
        { ...say({ content: "[1]" }, "stop"), ...PAGES },
      ],
      expect: SOURCED,
    },
    "in a chunk without choices": {
      given: [say({ content: "one[1]" }, "stop"), { choices: [], ...PAGES }],
      expect: SOURCED,
    },
    "as pages alone": {
      given: [
        {
          ...say({ content: "one[1]" }, "stop"),
          search_results: [{ url: "https://a.example" }, { title: "none" }, null],
        },
      ],
      expect: [sourceOf("https://a.example", "", 6)],
    },
    "that are no addresses": {
      given: [{ ...say({ content: "one[1]" }, "stop"), citations: ["[1]", 3, {}] }],
      expect: [],
    },
    "beside annotations of the text": {
      given: [{ ...say({ content: "one[1]", annotations: [annotated("a", 3, 6)] }, "stop"), ...PAGES }],
      expect: [urlCitation("a", 3, 6)],
    },
  };

for (const [what, { given, expect }] of Object.entries(WITH_SOURCES)) {
  test(`sources ${what} are annotations of the text, in a stream and in a whole answer`, () => {
    const bytes = bytesOf([...given, DONE]);
    const { frames, problem } = translate("chat", [bytes], termsOf());
    assert.equal(problem, undefined);
    assert.deepEqual(annotationsOf(responseOf(frames)), [expect]);
    const whole = responsesReading("chat", termsOf()).translateWhole(bytes.toString(), STAMP, false);
    assert.deepEqual(annotationsOf(JSON.parse(whole) as Values), [expect]);
  });
}

test("many annotations after a long text cost about as much as before its end", () => {
  const pages = Array.from({ length: 2_000 }, () => say({ annotations: [annotated("a", 0, 1)] }));
  const text = say({ content: "x".repeat(200_000) });
  const timeOf = (given: readonly Sent[]): number => {
    const bytes = bytesOf(given);
    const startedAt = performance.now();
    const { frames, problem } = translate("chat", [bytes], termsOf());
    const elapsed = performance.now() - startedAt;
    assert.equal(problem, undefined);
    assert.equal(annotationsOf(responseOf(frames)).flat().length, pages.length);
    return elapsed;
  };
  const before = (): number => timeOf([text, ...pages, say(call(0, "c", "f", "{}")), say({}, "tool_calls"), DONE]);
  const after = (): number => timeOf([text, say(call(0, "c", "f", "{}")), ...pages, say({}, "tool_calls"), DONE]);
  const [early, late] = [before, after].map((run) => Math.min(run(), run(), run()));
  assert.ok((late ?? 0) < 10 * (early ?? 0), `${late} ms after the text, ${early} ms before its end`);
});
