/** Properties of every request of a messages client for a compat provider, whatever its content. */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { MAX_DEPTH } from "../../../../../src/server/core/dialects/json/json-scan.ts";
import { listOf, objectOf } from "../../../../../src/server/core/dialects/json/json-values.ts";
import { toolNamesOf } from "../../../../../src/server/core/dialects/translate/to-compat/short-tool-names.ts";
import { RequestProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import { assertIsChat, GOLDENS, isAnswered, translate } from "./to-compat-request-support.ts";

const word = fc.string({ minLength: 1, maxLength: 8 });
const mark = fc.constantFrom({}, {}, { cache_control: { type: "ephemeral" } });
/** Texts and images have tokens that can be counted. */
const TOKEN = /<\d+>/g;
const token = fc.nat().map((number) => `<${number}>`);

/** No name looks like a token. */
const toolName = fc.oneof(word, fc.string({ minLength: 60, maxLength: 128 })).map((name) => name.replaceAll("<", "_"));

const text = fc
  .tuple(fc.oneof(token, fc.constant("")), mark)
  .map(([value, marked]) => ({ type: "text", text: value, ...marked }));
const image = fc
  .tuple(token, mark)
  .map(([url, marked]) => ({ type: "image", source: { type: "url", url }, ...marked }));
const pdf = token.map((title) => ({
  type: "document",
  title,
  source: { type: "base64", media_type: "application/pdf", data: "AA" },
}));
const media = fc.oneof(text, image, pdf);
const result = fc.oneof(fc.constant(undefined), token, fc.array(media, { maxLength: 3 }));

/** An assistant turn with calls, and the user's with all results among other blocks, split into messages at random. */
const exchange = fc
  .record({
    thoughts: fc.array(fc.constant({ type: "thinking", thinking: "Hm.", signature: "c2ln" }), { maxLength: 1 }),
    texts: fc.array(text, { maxLength: 2 }),
    calls: fc.array(fc.record({ name: toolName, result, is_error: fc.boolean() }), { minLength: 1, maxLength: 4 }),
    rest: fc.array(media, { maxLength: 3 }),
    cuts: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
    seed: fc.nat(),
  })
  .map(({ thoughts, texts, calls, rest, cuts, seed }) => (turn: number) => {
    const id = (index: number) => `toolu_${turn}_${index}`;
    const uses = calls.map(({ name }, index) => ({ type: "tool_use", id: id(index), name, input: { index } }));
    const results = calls.map(({ result: content, is_error }, index) => ({
      type: "tool_result",
      tool_use_id: id(index),
      content,
      is_error,
    }));
    const blocks: readonly object[] = rotated([...results, ...rest], seed);
    return [...cut("assistant", [...thoughts, ...texts, ...uses], cuts), ...cut("user", blocks, cuts)];
  });

const conversation = fc
  .record({
    start: token,
    exchanges: fc.array(exchange, { maxLength: 4 }),
    system: fc.option(fc.array(text, { maxLength: 3 })),
    cache: mark,
  })
  .map(({ start, exchanges, system, cache }) => ({
    ...cache,
    system,
    messages: [{ role: "user", content: start }, ...exchanges.flatMap((make, turn) => make(turn))],
  }));

function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

function cut(role: string, blocks: readonly object[], cuts: readonly boolean[]): readonly object[] {
  const messages: object[][] = [[]];
  for (const [index, block] of blocks.entries()) {
    if (cuts[index] === true) messages.push([]);
    messages.at(-1)?.push(block);
  }
  return messages.map((content) => ({ role, content }));
}

test("however results are ordered, split and mixed, each call is answered before any other text", () => {
  fc.assert(
    fc.property(conversation, (request) => {
      const { body } = translate(request);
      assertIsChat(body);
      assert.ok(isAnswered(body));
    }),
  );
});

test("no text, image or document of a conversation is lost or sent twice", () => {
  fc.assert(
    fc.property(conversation, (request) => {
      const { body } = translate(request);
      assert.deepEqual(tokensIn(body), tokensIn(request));
    }),
  );
});

function tokensIn(value: unknown): readonly string[] {
  return [...JSON.stringify(value).matchAll(TOKEN)].map(([token]) => token).sort();
}

test("names stay distinct and stable, and map back to the client's own", () => {
  const names = fc.oneof(word, fc.string({ minLength: 60, maxLength: 130, unit: fc.constantFrom("a", "b") }));
  fc.assert(
    fc.property(
      fc.uniqueArray(names, { maxLength: 20 }),
      fc.uniqueArray(names, { maxLength: 5 }),
      (declared, others) => {
        const { nameToSend: sent, originalNames: changed } = toolNamesOf(declared);
        const short = declared.map(sent);
        assert.equal(new Set(short).size, declared.length);
        for (const [index, name] of declared.entries()) {
          assert.ok((short[index]?.length ?? 0) <= 64);
          assert.equal(changed.get(sent(name)) ?? sent(name), name);
        }
        for (const name of others) assert.equal(changed.get(sent(name)) ?? sent(name), name);
      },
    ),
  );
});

/** A text that is in a request and must be in no error. */
const SECRET = "s3cret";

/** Returns every place of a value as a path of keys. */
function placesOf(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [[]];
  return [[], ...Object.entries(value).flatMap(([key, part]) => placesOf(part).map((path) => [key, ...path]))];
}

function replaced(value: unknown, path: readonly string[], by: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined || typeof value !== "object" || value === null) return by;
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === key ? replaced(item, rest, by) : item));
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, name === key ? replaced(part, rest, by) : part]),
  );
}

const REQUESTS = GOLDENS.flatMap(([, cases]) => cases).map(({ given }) => given);
const MUTANTS = REQUESTS.flatMap((request) => placesOf(request).map((path) => ({ request, path })));

function translateOrRefuse(request: unknown): void {
  let translated: ReturnType<typeof translate>;
  try {
    translated = translate(request);
  } catch (error) {
    if (!(error instanceof RequestProblem)) throw error;
    assert.ok(!`${error.param} ${error.message}`.includes(SECRET));
    return;
  }
  assertIsChat(translated.body);
}

const secrets = fc.constantFrom(SECRET, { type: SECRET }, [SECRET], { [SECRET]: SECRET }, [
  { type: "text", text: SECRET },
]);

test("any JSON in place of any part is translated or refused, and quoted by no refusal", () => {
  const anything = fc.oneof(fc.jsonValue(), secrets, fc.constantFrom(null, "", [], {}, true, 0, -1, 1.5));
  fc.assert(
    fc.property(fc.constantFrom(...MUTANTS), anything, ({ request, path }, value) => {
      translateOrRefuse(replaced(request, path, value));
    }),
    { numRuns: 2_000 },
  );
});

test("any JSON in place of the request is translated or refused", () => {
  fc.assert(fc.property(fc.jsonValue(), translateOrRefuse));
});

test("the schema of a strict tool may be as deep as JSON", () => {
  let schema: object = { type: "object", properties: {}, additionalProperties: false };
  for (let depth = 0; depth < MAX_DEPTH - 10; depth += 2) schema = { type: "array", items: schema };
  const request = {
    messages: [{ role: "user", content: "Hi" }],
    tools: [{ name: "f", strict: true, input_schema: schema }],
  };
  const [tool] = listOf(translate(request).body["tools"]);
  assert.equal(objectOf(objectOf(tool)?.["function"])?.["strict"], true);
});
