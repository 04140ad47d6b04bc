/**
 * Requests in a neutral form, restricted to what both dialects can express; the importing tests write them in either.
 */
import fc from "fast-check";

export interface Tool {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON text of an object. */
  readonly schema: string;
}

interface Call {
  readonly id: string;
  readonly name: string;
  /** JSON text of an object. */
  readonly input: string;
  readonly result: string;
}

export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "linked image"; readonly url: string }
  | { readonly kind: "pdf"; readonly title: string; readonly data: string };

export interface Thought {
  readonly text: string;
  readonly signature: string;
}

interface Exchange {
  readonly thoughts: readonly Thought[];
  readonly answer: string | undefined;
  readonly calls: readonly Call[];
  readonly question: readonly Piece[];
}

export type Choice = { readonly kind: "auto" | "any" | "none" } | { readonly kind: "tool"; readonly at: number };

/** A request in a neutral form. */
export interface NeutralRequest {
  readonly system: readonly string[];
  readonly opening: readonly Piece[];
  readonly exchanges: readonly Exchange[];
  readonly tools: readonly Tool[];
  readonly choice: Choice | undefined;
  readonly isSerial: boolean;
  readonly outputSchema: string | undefined;
  readonly stop: readonly string[];
  readonly maxTokens: number;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly streams: boolean;
}

/** Neither empty nor blank, since either dialect drops such texts. */
const words = fc
  .oneof(fc.string({ unit: "binary", maxLength: 12 }), fc.string({ maxLength: 20 }))
  .map((text) => `t${text}.`);

const scalars = fc.oneof(
  fc.constantFrom("1.0", "1e5", "-0", "12345678901234567890", "0.10", '"\\ud800"', "true", "false", "null"),
  fc.integer().map(String),
  fc.string({ unit: "binary", maxLength: 8 }).map((text) => JSON.stringify(text)),
);

const names = fc.oneof(
  fc.constantFrom("type", "properties", "additionalProperties", "10", "9", "__proto__", "constructor", "toJSON"),
  fc.string({ maxLength: 8 }),
);

/** Without spaces and needless escapes, so that texts can be compared after any translation. */
const { objects } = fc.letrec<{ values: string; objects: string }>((tie) => ({
  values: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalars,
    fc.array(tie("values"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
    tie("objects"),
  ),
  objects: fc
    .uniqueArray(fc.tuple(names, tie("values")), { maxLength: 4, selector: ([name]) => name })
    .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`),
}));

/** Tool schemas: opaque, except for an object without properties. */
const schemas = fc.oneof(
  { arbitrary: objects.map((object) => `{"type":"object","properties":${object}}`), weight: 4 },
  objects.map((object) => `{"type":"object","default":${object}}`),
  fc.constant('{"type":"object"}'),
);

/** Answer schemas. `ends` is the last part of their objects. */
const answerSchemas = (ends: fc.Arbitrary<string>) =>
  fc.letrec<{ schemas: string; objects: string }>((tie) => ({
    schemas: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.array(scalars, { minLength: 1, maxLength: 3 }).map((items) => `{"enum":[${items.join(",")}]}`),
      tie("schemas").map((items) => `{"type":"array","items":${items}}`),
      fc.array(tie("schemas"), { minLength: 1, maxLength: 2 }).map((choices) => `{"anyOf":[${choices.join(",")}]}`),
      tie("objects"),
    ),
    objects: fc
      .tuple(fc.uniqueArray(fc.tuple(names, tie("schemas")), { maxLength: 3, selector: ([name]) => name }), ends)
      .map(([members, end]) => {
        const required = members.map(([name]) => JSON.stringify(name)).join(",");
        const properties = members.map(([name, schema]) => `${JSON.stringify(name)}:${schema}`).join(",");
        return `{"type":"object","properties":{${properties}},"required":[${required}]${end}}`;
      }),
  })).objects;

const NARROW = ',"additionalProperties":false';
const outputSchemas = fc.oneof(answerSchemas(fc.constant(NARROW)), answerSchemas(fc.constantFrom("", NARROW)));

const base64 = fc.uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString("base64"));

const pieces: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), text: words }),
  fc.record({
    kind: fc.constant("image" as const),
    mediaType: fc.constantFrom("image/png", "image/jpeg", "image/gif", "image/webp"),
    data: base64,
  }),
  fc.record({ kind: fc.constant("linked image" as const), url: fc.nat().map((n) => `https://example.com/${n}.png`) }),
  fc.record({ kind: fc.constant("pdf" as const), title: words, data: base64 }),
);

const toolNames = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);

export const neutralRequests: fc.Arbitrary<NeutralRequest> = fc
  .uniqueArray(fc.record({ name: toolNames, description: fc.option(words, { nil: undefined }), schema: schemas }), {
    minLength: 1,
    maxLength: 3,
    selector: ({ name }) => name,
  })
  .chain((tools) => {
    const at = fc.nat(tools.length - 1);
    const calls = fc.array(fc.record({ at, input: objects, result: words }), { maxLength: 3 });
    const exchange = fc.record({
      thoughts: fc.array(fc.record({ text: words, signature: base64 }), { maxLength: 2 }),
      answer: fc.option(words, { nil: undefined }),
      calls,
      question: fc.array(pieces, { maxLength: 3 }),
    });
    return fc.record({
      system: fc.array(words, { maxLength: 3 }),
      opening: fc.array(pieces, { minLength: 1, maxLength: 3 }),
      exchanges: fc.array(exchange, { maxLength: 3 }).map((raw) => exchangesOf(raw, tools)),
      tools: fc.constant(tools),
      choice: fc.option(
        fc.oneof(
          fc.constantFrom<Choice>({ kind: "auto" }, { kind: "any" }, { kind: "none" }),
          at.map((place): Choice => ({ kind: "tool", at: place })),
        ),
        { nil: undefined },
      ),
      isSerial: fc.boolean(),
      outputSchema: fc.option(outputSchemas, { nil: undefined }),
      stop: fc.array(words, { maxLength: 4 }),
      maxTokens: fc.integer({ min: 1, max: 100_000 }),
      temperature: fc.option(fc.constantFrom(0, 0.3), { nil: undefined }),
      topP: fc.option(fc.constantFrom(0.1, 0.95), { nil: undefined }),
      streams: fc.boolean(),
    });
  });

interface RawExchange {
  readonly thoughts: readonly Thought[];
  readonly answer: string | undefined;
  readonly calls: readonly { readonly at: number; readonly input: string; readonly result: string }[];
  readonly question: readonly Piece[];
}

/** Every call has its own id; a turn without calls has an answer, and the following one a question. */
function exchangesOf(raw: readonly RawExchange[], tools: readonly Tool[]): readonly Exchange[] {
  return raw.map(({ thoughts, answer, calls, question }, turn) => ({
    thoughts,
    answer: calls.length === 0 ? (answer ?? "Well.") : answer,
    calls: calls.map(({ at, input, result }, n) => ({
      id: `call-${turn}_${n}`,
      name: tools[at]?.name ?? "",
      input,
      result,
    })),
    question: calls.length === 0 && question.length === 0 ? [{ kind: "text", text: "And?" }] : question,
  }));
}
