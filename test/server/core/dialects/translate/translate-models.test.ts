import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { translateModel, translateModels } from "../../../../../src/server/core/dialects/translate/translate-models.ts";
import { AnswerProblem } from "../../../../../src/server/core/dialects/translate/types.ts";

interface MessagesList {
  readonly data: readonly { readonly id: string }[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

const COMPAT_MODEL = { id: "m-1", object: "model", created: 1_755_187_200, owned_by: "someone" };
const MESSAGES_MODEL = { type: "model", id: "m-1", display_name: "M 1", created_at: "2025-08-14T16:00:00Z" };

test("a compat list becomes a messages list", () => {
  const body = JSON.stringify({ object: "list", data: [COMPAT_MODEL, { id: "m-2" }] });
  assert.deepEqual(JSON.parse(translateModels("messages", body, "")), {
    data: [
      { type: "model", id: "m-1", display_name: "m-1", created_at: "2025-08-14T16:00:00Z" },
      { type: "model", id: "m-2", display_name: "m-2", created_at: "1970-01-01T00:00:00Z" },
    ],
    has_more: false,
    first_id: "m-1",
    last_id: "m-2",
  });
});

test("a messages list becomes a compat list", () => {
  const more = { capabilities: { batch: { supported: true } }, max_tokens: 64_000 };
  const data = [
    { ...MESSAGES_MODEL, ...more },
    { type: "model", id: "m-2" },
  ];
  const body = JSON.stringify({ data, has_more: false, first_id: "m-1", last_id: "m-2" });
  assert.deepEqual(JSON.parse(translateModels("compat", body, "?limit=1")), {
    object: "list",
    data: [
      { id: "m-1", object: "model", created: 1_755_187_200, owned_by: "unknown" },
      { id: "m-2", object: "model", created: 0, owned_by: "unknown" },
    ],
  });
});

test("one model is shown in the format of either dialect", () => {
  const toMessages = JSON.parse(translateModel("messages", JSON.stringify({ ...COMPAT_MODEL, display_name: "M 1" })));
  assert.deepEqual(toMessages, MESSAGES_MODEL);
  const toCompat = JSON.parse(translateModel("compat", JSON.stringify(MESSAGES_MODEL)));
  assert.deepEqual(toCompat, { ...COMPAT_MODEL, owned_by: "unknown" });
});

test("empty lists have no first or last model", () => {
  const toMessages = JSON.parse(translateModels("messages", '{"object":"list","data":[]}', "limit=5"));
  assert.deepEqual(toMessages, { data: [], has_more: false, first_id: null, last_id: null });
  assert.equal(translateModels("compat", '{"data":[],"has_more":false}', ""), '{"object":"list","data":[]}');
});

test("a list that is null has no models", () => {
  const none = '{"object":"list","data":null}';
  assert.deepEqual(JSON.parse(translateModels("compat", none, "")), { object: "list", data: [] });
  assert.deepEqual((JSON.parse(translateModels("messages", none, "")) as { data: unknown }).data, []);
});

test("a bare array counts as a list", () => {
  const list = JSON.parse(translateModels("messages", JSON.stringify([COMPAT_MODEL]), "")) as MessagesList;
  assert.deepEqual(idsOf(list), ["m-1"]);
});

test("entries without an id are dropped, and a duplicate is listed once", () => {
  const data = [
    null,
    7,
    "m",
    [],
    {},
    { id: 7 },
    { id: "" },
    { id: "a", created: 1 },
    { id: "b" },
    { id: "a", created: 2 },
  ];
  const toMessages = JSON.parse(translateModels("messages", JSON.stringify({ data }), "")) as MessagesList;
  assert.deepEqual(toMessages.data, [
    { type: "model", id: "a", display_name: "a", created_at: "1970-01-01T00:00:01Z" },
    { type: "model", id: "b", display_name: "b", created_at: "1970-01-01T00:00:00Z" },
  ]);
  const toCompat = JSON.parse(translateModels("compat", JSON.stringify({ data }), "")) as MessagesList;
  assert.deepEqual(idsOf(toCompat), ["a", "b"]);
});

const TIMES: readonly (readonly [created: unknown, createdAt: string])[] = [
  [0, "1970-01-01T00:00:00Z"],
  [1_755_187_200.9, "2025-08-14T16:00:00Z"],
  [253_402_300_799, "9999-12-31T23:59:59Z"],
  [253_402_300_800, "1970-01-01T00:00:00Z"],
  [-1, "1970-01-01T00:00:00Z"],
  [1e300, "1970-01-01T00:00:00Z"],
  ["1755187200", "1970-01-01T00:00:00Z"],
  [null, "1970-01-01T00:00:00Z"],
];

for (const [created, createdAt] of TIMES) {
  test(`the time ${JSON.stringify(created)} of a compat model becomes ${createdAt}`, () => {
    const model = JSON.parse(translateModel("messages", JSON.stringify({ id: "m", created })));
    assert.deepEqual(model, { type: "model", id: "m", display_name: "m", created_at: createdAt });
  });
}

const SECONDS: readonly (readonly [createdAt: unknown, created: number])[] = [
  ["2025-08-14T16:00:00Z", 1_755_187_200],
  ["2025-08-14T16:00:00.999Z", 1_755_187_200],
  ["2025-08-14T18:00:00+02:00", 1_755_187_200],
  ["1970-01-01T00:00:00Z", 0],
  ["2025-99-14T16:00:00Z", 0],
  ["0001-01-01T00:00:00Z", 0],
  ["yesterday", 0],
  ["2025", 0],
  [1_755_187_200, 0],
  [null, 0],
];

for (const [createdAt, created] of SECONDS) {
  test(`the time ${JSON.stringify(createdAt)} of a messages model becomes ${created} seconds`, () => {
    const model = JSON.parse(translateModel("compat", JSON.stringify({ id: "m", created_at: createdAt })));
    assert.deepEqual(model, { id: "m", object: "model", created, owned_by: "unknown" });
  });
}

const listOf = (count: number): string =>
  JSON.stringify({ object: "list", data: Array.from({ length: count }, (_, i) => ({ id: `m${i}` })) });

const PAGES: readonly (readonly [query: string, first: string | null, last: string | null, hasMore: boolean])[] = [
  ["", "m0", "m19", true],
  ["limit=1000", "m0", "m49", false],
  ["?limit=50", "m0", "m49", false],
  ["limit=49", "m0", "m48", true],
  ["limit=1", "m0", "m0", true],
  ["limit=0", "m0", "m0", true],
  ["limit=99999999999999999999", "m0", "m49", false],
  ["limit=many", "m0", "m19", true],
  ["limit=-1", "m0", "m19", true],
  ["after_id=m19", "m20", "m39", true],
  ["after_id=m39", "m40", "m49", false],
  ["after_id=m29", "m30", "m49", false],
  ["after_id=m49", null, null, false],
  ["after_id=gone", null, null, false],
  ["after_id=", null, null, false],
  ["before_id=m30", "m10", "m29", true],
  ["before_id=m20", "m0", "m19", false],
  ["before_id=m0", null, null, false],
  ["before_id=gone", null, null, false],
  ["before_id=m30&limit=2", "m28", "m29", true],
  ["after_id=m9&before_id=m13&limit=2", "m10", "m11", true],
  ["after_id=m9&before_id=m12&limit=2", "m10", "m11", false],
  ["after_id=m9&before_id=m3", null, null, false],
];

for (const [query, first, last, hasMore] of PAGES) {
  test(`a messages client that asks for "${query}" gets ${first} to ${last}`, () => {
    const list = JSON.parse(translateModels("messages", listOf(50), query)) as MessagesList;
    assert.deepEqual([list.first_id, list.last_id, list.has_more], [first, last, hasMore]);
    assert.deepEqual([list.data.at(0)?.id ?? null, list.data.at(-1)?.id ?? null], [first, last]);
  });
}

test("a page has at most 1000 models", () => {
  const list = JSON.parse(translateModels("messages", listOf(1_001), "limit=5000")) as MessagesList;
  assert.equal(list.data.length, 1_000);
  assert.ok(list.has_more);
});

test("paging in either direction, as the official client does, returns every model once", () => {
  const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 30 });
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 8 }), (listed, limit) => {
      const body = JSON.stringify({ data: listed.map((id) => ({ id })) });
      assert.deepEqual(pages(body, { limit, cursor: "after_id", from: undefined }), listed);
      const last = listed.at(-1);
      if (last === undefined) return;
      assert.deepEqual(pages(body, { limit, cursor: "before_id", from: last }), listed.slice(0, -1));
    }),
    { verbose: true },
  );
});

interface Paging {
  readonly limit: number;
  readonly cursor: "after_id" | "before_id";
  readonly from: string | undefined;
}

/** Returns every id in list order, for either paging direction. */
function pages(body: string, { limit, cursor, from }: Paging): readonly string[] {
  const query = new URLSearchParams({ limit: String(limit), ...(from !== undefined && { [cursor]: from }) });
  const list = JSON.parse(translateModels("messages", body, query.toString())) as MessagesList;
  const ids = idsOf(list);
  assert.ok(ids.length <= limit);
  const next = cursor === "after_id" ? list.last_id : list.first_id;
  if (!list.has_more || next === null) return ids;
  const rest = pages(body, { limit, cursor, from: next });
  return cursor === "after_id" ? [...ids, ...rest] : [...rest, ...ids];
}

test("input that is not a list or a model is a problem that quotes none of it", () => {
  const bodies = [
    "",
    "<html>secret</html>",
    "null",
    '"secret"',
    "7",
    "{}",
    '{"data":{"id":"secret"}}',
    '{"data":null}',
  ];
  for (const to of ["compat", "messages"] as const) {
    for (const body of bodies) {
      assert.throws(() => translateModels(to, body, ""), isProblem, body);
      assert.throws(() => translateModel(to, body), isProblem, body);
    }
    for (const body of ["[]", '[{"id":"secret"}]', '{"id":7}', '{"id":""}']) {
      assert.throws(() => translateModel(to, body), isProblem, body);
    }
  }
});

test("whatever a provider lists, the client gets a list of its dialect or a problem", () => {
  const anything = fc.jsonValue();
  const entry = fc.record({ id: anything, created: anything, created_at: anything, display_name: anything });
  const body = fc.oneof(anything, fc.record({ data: fc.oneof(anything, fc.array(fc.oneof(entry, anything))) }));
  fc.assert(
    fc.property(body, fc.string(), (value, query) => {
      for (const to of ["compat", "messages"] as const) {
        try {
          const list = JSON.parse(translateModels(to, JSON.stringify(value), query)) as MessagesList;
          assert.ok(idsOf(list).every((id) => typeof id === "string" && id !== ""));
        } catch (error) {
          assert.ok(isProblem(error), String(error));
        }
      }
    }),
    { numRuns: 1_000, verbose: true },
  );
});

const idsOf = ({ data }: MessagesList): readonly string[] => data.map(({ id }) => id);

const isProblem = (error: unknown): boolean => error instanceof AnswerProblem && !error.message.includes("secret");
