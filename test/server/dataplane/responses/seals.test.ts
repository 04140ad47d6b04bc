import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createSealFactory,
  type SealBinding,
  sealKeysOf,
} from "../../../../src/server/dataplane/responses/reasoning-seals.ts";

const key = (id: string, byte: number) => ({ id, key: new Uint8Array(32).fill(byte) });
const OLD = key("s:0a1b2c3d", 1);
const NEW = key("b:99887766", 2);
const BOUND: SealBinding = { caller: "key k1", form: "messages", maker: "anthropic", model: "claude-sonnet-5" };
const BLOCKS = [
  { k: "t", x: "I need the weather: 21 °C", s: "EqQB==" },
  { k: "r", x: "cmVkYWN0ZWQ=" },
] as const;
const sealsOf = (...keys: readonly ReturnType<typeof key>[]) => createSealFactory(sealKeysOf(keys));

test("sealed reasoning is opened by its own caller and discloses nothing", () => {
  const { seal, open } = sealsOf(OLD)(BOUND);
  const sealed = seal(BLOCKS);
  assert.match(sealed, /^gwr1\.[A-Za-z0-9]{1,8}\.[A-Za-z0-9_-]+$/);
  assert.doesNotMatch(Buffer.from(sealed.split(".")[2] ?? "", "base64url").toString("latin1"), /weather|EqQB/);
  assert.deepEqual(open(sealed), BLOCKS);
  assert.notEqual(seal(BLOCKS), sealed);
});

test("another caller, format, vendor or model cannot open it", () => {
  const seals = sealsOf(OLD);
  const sealed = seals(BOUND).seal(BLOCKS);
  for (const other of [
    { caller: "key k2" },
    { form: "chat" },
    { maker: "openai" },
    { model: "claude-opus-5" },
  ] as const) {
    assert.equal(seals({ ...BOUND, ...other }).open(sealed), undefined, JSON.stringify(other));
  }
});

test("text with any changed or missing character, or from elsewhere, is rejected", () => {
  const { seal, open } = sealsOf(OLD)(BOUND);
  const sealed = seal(BLOCKS);
  for (let at = 0; at < sealed.length - 1; at++) {
    const changed = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
    assert.equal(open(changed), undefined, `at ${at}`);
    assert.equal(open(sealed.slice(0, at)), undefined, `cut at ${at}`);
  }
  for (const foreign of [
    "",
    "gwr1.",
    "gwr1.x",
    "gwr1..",
    "gAAAAABo-foreign",
    "gwr2.a.b",
    `gwr1.${"A".repeat(5 << 20)}`,
  ]) {
    assert.equal(open(foreign), undefined);
  }
});

test("a rotated key still opens text sealed by the previous one, until that is removed", () => {
  const sealed = sealsOf(OLD)(BOUND).seal(BLOCKS);
  assert.deepEqual(sealsOf(NEW, OLD)(BOUND).open(sealed), BLOCKS);
  assert.match(sealsOf(NEW, OLD)(BOUND).seal(BLOCKS), /^gwr1\.99887766\./);
  assert.equal(sealsOf(NEW)(BOUND).open(sealed), undefined);
});

test("without a deployment key a process opens only its own text", () => {
  const mine = createSealFactory(sealKeysOf(undefined))(BOUND);
  const sealed = mine.seal(BLOCKS);
  assert.deepEqual(mine.open(sealed), BLOCKS);
  assert.equal(createSealFactory(sealKeysOf(undefined))(BOUND).open(sealed), undefined);
});
