/**
 * A table of requests by the capabilities they use: the rows of the vocabulary, and forms that no translation keeps.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type Capability,
  capabilitiesOf,
  isCapability,
} from "../../../../../src/server/core/dialects/fidelity/capabilities.ts";
import { evidenceOf, showsEvidence } from "../../../../../src/server/core/dialects/fidelity/evidence.ts";
import { MAX_PLACE_LENGTH } from "../../../../../src/server/core/dialects/fidelity/losses.ts";
import { usesOf } from "../../../../../src/server/core/dialects/fidelity/uses/uses.ts";
import type { Dialect, Form } from "../../../../../src/server/core/dialects/routes/routes.ts";

type Fields = Readonly<Record<string, unknown>>;

interface UseRow {
  readonly capability: Capability;
  readonly used: readonly Fields[];
  /** Not used because of defaults, nulls, or another row. */
  readonly unused: readonly Fields[];
}

interface LossRow {
  readonly title: string;
  readonly request: Fields;
  readonly capability: Capability;
  readonly place: string;
}

interface Table {
  readonly dialect: Dialect;
  /** Uses nothing; rows are merged over it. */
  readonly plain: Fields;
}

interface UsesTable extends Table {
  readonly uses: readonly UseRow[];
  /** Field and type names, for requests that nearly match the dialect. */
  readonly vocabulary: readonly string[];
}

interface FormsTable extends Table {
  readonly losses: readonly LossRow[];
  /** Forms that are translated completely. */
  readonly kept: readonly { readonly title: string; readonly request: Fields }[];
}

const formOf = (dialect: Dialect): Form => (dialect === "compat" ? "chat" : "messages");
const otherOf = (dialect: Dialect): Form => (dialect === "compat" ? "messages" : "chat");

/** Tests forms without a translation, and similar ones with one. */
export function testForms({ dialect, plain, losses, kept }: FormsTable): void {
  const read = (request: Fields) => usesOf(formOf(dialect), { ...plain, ...request }, otherOf(dialect));

  for (const { title, request, capability, place } of losses) {
    test(`${dialect}: ${title} is not translatable`, () => {
      assert.equal(read(request).untranslatable.get(capability), place);
    });
  }

  for (const { title, request } of kept) {
    test(`${dialect}: ${title} is translatable`, () => {
      assert.deepEqual([...read(request).untranslatable], []);
    });
  }
}

export function testUses({ dialect, plain, uses, vocabulary }: UsesTable): void {
  const read = (request: Fields) => usesOf(formOf(dialect), { ...plain, ...request }, otherOf(dialect));
  const shows = (request: unknown, capability: Capability): boolean => {
    const evidence = evidenceOf(dialect, [capability]);
    return evidence === undefined || showsEvidence(Buffer.from(JSON.stringify(request) ?? ""), evidence);
  };

  test(`a plain ${dialect} request uses nothing`, () => {
    const { capabilities, untranslatable } = read({});
    assert.deepEqual([...capabilities], []);
    assert.deepEqual([...untranslatable], []);
  });

  for (const { capability, used, unused } of uses) {
    test(`${dialect}: ${capability} is used if requested, and by no default`, () => {
      assert.ok(used.length > 0 && unused.length > 0);
      for (const request of used) {
        assert.ok(read(request).capabilities.has(capability), JSON.stringify(request));
        assert.ok(shows(request, capability), JSON.stringify(request));
      }
      for (const request of unused) assert.ok(!read(request).capabilities.has(capability), JSON.stringify(request));
    });
  }

  test(`every capability that a ${dialect} request can use is found by a row of the table`, () => {
    assert.deepEqual(new Set(uses.map(({ capability }) => capability)), capabilitiesOf(dialect));
  });

  test(`any JSON in place of a ${dialect} request has uses with bounded places`, () => {
    const word = fc.constantFrom(...vocabulary);
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.oneof(word, fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.jsonValue()),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(fc.oneof({ arbitrary: word, weight: 4 }, { arbitrary: fc.string(), weight: 1 }), tie("value"), {
          maxKeys: 8,
        }),
      ),
    }));
    const message = fc.record({ role: word, content: value, tool_calls: value }, { requiredKeys: [] });
    const request = fc.oneof(
      value,
      fc.record({ messages: fc.array(message), tools: value, tool_choice: value }, { requiredKeys: [] }),
    );
    fc.assert(
      fc.property(request, (input) => {
        const { capabilities, untranslatable } = usesOf(formOf(dialect), input, otherOf(dialect));
        for (const capability of capabilities) {
          assert.ok(capabilitiesOf(dialect).has(capability), capability);
          assert.ok(shows(input, capability), `${capability} without its words`);
        }
        for (const [capability, place] of untranslatable) {
          assert.ok(isCapability(capability));
          assert.match(place, /^[A-Za-z0-9_.[\]-]+$/);
          assert.ok(place.length <= MAX_PLACE_LENGTH);
        }
      }),
      { numRuns: 400, verbose: 1 },
    );
  });
}
