import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApplyDecision, decideApply, type Edition } from "../../../../src/server/core/config/index.ts";

const edition = (version: number | undefined, digest: string): Edition =>
  version === undefined ? { digest } : { version, digest };

/** A stored edition without a version, before which this version was applied. */
const after = (highest: number, digest: string): Edition => ({ highest, digest });

/** Stored edition and document as version and digest; then the decision of a start and of a reload. */
const TABLE: readonly (readonly [Edition | undefined, Edition, ApplyDecision["kind"], ApplyDecision["kind"]])[] = [
  [undefined, edition(3, "a"), "apply", "apply"],
  [undefined, edition(undefined, "a"), "apply", "apply"],
  [edition(1, "a"), edition(2, "b"), "apply", "apply"],
  [edition(1, "a"), edition(1, "a"), "keep", "keep"],
  [edition(1, "a"), edition(1, "b"), "refuse", "refuse"],
  [edition(2, "a"), edition(1, "b"), "refuse", "refuse"],
  [edition(2, "a"), edition(1, "a"), "refuse", "refuse"],
  [edition(undefined, "a"), edition(1, "b"), "apply", "apply"],
  [edition(1, "a"), edition(undefined, "b"), "wait", "apply"],
  [edition(undefined, "a"), edition(undefined, "b"), "wait", "apply"],
  [edition(undefined, "a"), edition(undefined, "a"), "keep", "keep"],
  [after(5, "a"), edition(4, "b"), "refuse", "refuse"],
  [after(5, "a"), edition(4, "a"), "refuse", "refuse"],
  [after(5, "a"), edition(5, "b"), "refuse", "refuse"],
  [after(5, "a"), edition(6, "b"), "apply", "apply"],
  [after(5, "a"), edition(6, "a"), "apply", "apply"],
  [after(5, "a"), edition(undefined, "b"), "wait", "apply"],
  [after(5, "a"), edition(undefined, "a"), "keep", "keep"],
];

test("a document is applied, kept, refused or waits according to the transition table", () => {
  for (const [stored, document, start, reload] of TABLE) {
    const decided = (["start", "reload"] as const).map((trigger) => decideApply({ trigger, stored, document }).kind);
    assert.deepEqual(decided, [start, reload], JSON.stringify({ stored, document }));
  }
});

test("a refusal has both versions and the remedy", () => {
  const refusal = (version: number) =>
    decideApply({ trigger: "reload", stored: edition(4, "a"), document: edition(version, "b") }).reason;
  assert.equal(refusal(4), "version 4 is stored with different content; raise the version with every edit");
  assert.equal(refusal(3), "version 3 is lower than the stored version 4");
  const { reason } = decideApply({ trigger: "start", stored: after(4, "a"), document: edition(3, "b") });
  assert.equal(
    reason,
    "version 3 is not above version 4, the highest that was applied before the stored document, which has none; raise the version with every edit",
  );
});
