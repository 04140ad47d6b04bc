/** A certificate's life in the pure state machine: timings, counts, and the effect of each answer. No network. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Account,
  type CertificateRecord,
  emptyRecord,
  type Issued,
  type Order,
  type Step,
  txtRecordOf,
} from "../../../../src/server/tls/acme/certificate-record.ts";
import {
  type Effect,
  type EffectResult,
  nextEffect,
  nextState,
  type OrderRows,
  STEPS,
  type WantedCertificate,
} from "../../../../src/server/tls/acme/order-machine.ts";
import {
  allowedFrom,
  drawWindow,
  nextAttempt,
  nextRenewalInfoRequest,
  renewalDue,
  renewalTime,
} from "../../../../src/server/tls/acme/renewal-time.ts";
import { retryAtOf } from "../../../../src/server/tls/acme/retry-after.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const T0 = Date.UTC(2026, 10, 1);

const wanted: WantedCertificate = {
  ca: "https://ca/dir",
  email: "ops@example.com",
  names: ["a.example"],
  type: "http-01",
  settings: "s1",
};
const account: Account = { ca: wanted.ca, email: wanted.email, key: "K", thumbprint: "thumb", url: "https://ca/a/1" };

const issuedAt = (at: number, life = 90 * DAY, more: Partial<Issued> = {}): Issued => ({
  chain: "C",
  key: "K",
  notBefore: at,
  notAfter: at + life,
  issuedAt: at,
  certId: "aki.serial",
  renewAt: renewalTime(at, at + life, 0),
  account: "thumb",
  window: null,
  askAt: null,
  ...more,
});
const recordOf = (more: Partial<CertificateRecord>): CertificateRecord => ({
  ...emptyRecord(wanted.ca, wanted.names),
  ...more,
});
const orderOf = (step: Step, more: Partial<Order> = {}): Order => ({
  id: "o1",
  step,
  type: "http-01",
  key: "K2",
  replaces: null,
  startedAt: T0,
  url: "https://ca/o/1",
  challenges: [],
  ...more,
});
const failed = (more: Partial<Extract<EffectResult, { kind: "failed" }>> = {}): EffectResult => ({
  kind: "failed",
  reason: "ca_unreachable",
  message: "m",
  keepsOrder: true,
  losesAccount: false,
  retryAt: undefined,
  ...more,
});
const step = (rows: OrderRows, answer: EffectResult, now: number, by: WantedCertificate = wanted): OrderRows =>
  nextState(rows, nextEffect(rows, by, now), answer, by, now);

test("a certificate is renewed at two thirds of its life, one of less than ten days at half, with a jitter of a fiftieth", () => {
  for (const [life, share] of [
    [5 * MINUTE, 1 / 2],
    [160 * HOUR, 1 / 2],
    [10 * DAY - 1, 1 / 2],
    [10 * DAY, 2 / 3],
    [45 * DAY, 2 / 3],
    [90 * DAY, 2 / 3],
    [398 * DAY, 2 / 3],
  ] as const) {
    assert.equal(renewalTime(T0, T0 + life, 0), Math.round(T0 + life * share));
    assert.equal(renewalTime(T0, T0 + life, 1), Math.round(T0 + life * (share - 0.02)));
    const rows: OrderRows = { account, record: recordOf({ issued: issuedAt(T0, life) }) };
    const due = renewalTime(T0, T0 + life, 0);
    assert.deepEqual(nextEffect(rows, wanted, due - 1), { do: "wait", until: due });
    assert.deepEqual(nextEffect(rows, wanted, due), { do: "begin" });
  }
});

test("the moment within a window is drawn once, again for another window, and never for an invalid one", () => {
  const window = { start: T0, end: T0 + 2 * DAY };
  const drawn = drawWindow(window, null, 0.25);
  assert.deepEqual(drawn, { ...window, at: T0 + DAY / 2 });
  assert.equal(drawWindow(window, drawn ?? null, 0.9), drawn);
  const moved = drawWindow({ start: T0 + 1, end: window.end }, drawn ?? null, 0);
  assert.equal(moved?.at, T0 + 1);
  assert.equal(drawWindow({ start: T0, end: T0 }, null, 0), undefined);
  assert.equal(drawWindow({ start: T0, end: T0 - 1 }, null, 0), undefined);
  assert.equal(drawWindow({ start: Number.NaN, end: T0 }, null, 0), undefined);
});

test("a window takes precedence over the lifetime, but causes neither endless renewal nor expiry", () => {
  const at = (start: number, end: number) => ({ start, end, at: start });
  const base = issuedAt(T0);
  assert.equal(renewalDue({ ...base, window: at(T0 + DAY, T0 + 2 * DAY) }), T0 + DAY);
  assert.equal(renewalDue({ ...base, window: at(T0 - DAY, T0 - HOUR) }), T0 + HOUR);
  const hours = issuedAt(T0, 10 * HOUR);
  assert.equal(renewalDue({ ...hours, window: at(T0 - DAY, T0 - HOUR) }), T0 + HOUR / 2);
  assert.equal(renewalDue({ ...base, window: at(T0 + 400 * DAY, T0 + 401 * DAY) }), T0 + 81 * DAY);
});

test("a window applies only to the certificate it was requested for", () => {
  const rows: OrderRows = { account, record: recordOf({ issued: issuedAt(T0, 90 * DAY, { askAt: T0 }) }) };
  const effect = nextEffect(rows, wanted, T0);
  assert.equal(effect.do, "ask");
  const window = { start: T0 + DAY, end: T0 + 2 * DAY, at: T0 + DAY };
  const answer: EffectResult = { kind: "asked", window, askAt: T0 + HOUR };
  const next = nextState(rows, effect, answer, wanted, T0);
  assert.deepEqual(next.record?.issued?.window, window);
  assert.deepEqual(nextEffect(next, wanted, T0), { do: "wait", until: T0 + HOUR });
  const renewed: OrderRows = { account, record: recordOf({ issued: issuedAt(T0, 90 * DAY, { certId: "another" }) }) };
  assert.equal(nextState(renewed, effect, answer, wanted, T0), renewed);
});

test("failures wait 1, 5, 15, 30 and 60 minutes, then an hour each, longer if requested, at most a week", () => {
  let rows: OrderRows = { account, record: recordOf({ order: orderOf("check") }) };
  let now = T0;
  for (const minutes of [1, 5, 15, 30, 60, 60, 60]) {
    rows = step(rows, failed(), now);
    assert.deepEqual(nextEffect(rows, wanted, now), { do: "wait", until: now + minutes * MINUTE });
    now += minutes * MINUTE;
    assert.equal(nextEffect(rows, wanted, now).do, "check");
  }
  assert.equal(rows.record?.failures, 7);
  assert.equal(nextAttempt(T0, 1, T0 + 30_000), T0 + MINUTE);
  assert.equal(nextAttempt(T0, 1, T0 + 2 * DAY), T0 + 2 * DAY);
  assert.equal(nextAttempt(T0, 9, T0 + 400 * DAY), T0 + 7 * DAY);
  assert.equal(nextAttempt(T0, 1, T0 - DAY), T0 + MINUTE);
});

test("an authority that is down for an hour leaves the certificate, and success clears the reported failure", () => {
  const old = issuedAt(T0);
  const due = renewalDue(old);
  let rows: OrderRows = { account, record: recordOf({ issued: old }) };
  rows = step(rows, { kind: "begun", id: "o1", key: "K2", replaces: old.certId }, due);
  let now = due;
  let attempts = 0;
  while (now < due + HOUR) {
    assert.equal(nextEffect(rows, wanted, now).do, "order");
    rows = step(rows, failed(), now);
    attempts += 1;
    assert.equal(rows.record?.issued, old);
    assert.equal(rows.record?.failure?.reason, "ca_unreachable");
    const effect = nextEffect(rows, wanted, now);
    now = effect.do === "wait" ? effect.until : now;
  }
  assert.equal(attempts, 5);
  assert.ok(now <= due + 2 * HOUR);
  rows = step(rows, { kind: "ordered", url: "u" }, now);
  for (const answer of [{ kind: "ready" }, { kind: "handed_in" }] as const) rows = step(rows, answer, now);
  const fresh = issuedAt(now);
  rows = step(rows, { kind: "issued", issued: fresh }, now);
  const { issued, failure, failures, nextAttemptAt, order } = rows.record ?? {};
  assert.deepEqual([issued, failure, failures, nextAttemptAt, order], [fresh, null, 0, 0, null]);
});

test("changed settings are tried at once, and failed ones are not", () => {
  const rows = step({ account, record: undefined }, failed({ reason: "eab" }), T0);
  assert.equal(nextEffect(rows, wanted, T0 + 1).do, "wait");
  assert.equal(nextEffect(rows, { ...wanted, settings: "s2" }, T0 + 1).do, "begin");
});

test("at most two orders are submitted in 24 hours; the count is kept across a failure between the two", () => {
  let rows: OrderRows = { account, record: recordOf({ order: orderOf("check") }) };
  rows = step(rows, { kind: "ready" }, T0);
  assert.deepEqual(rows.record?.finalized, [T0]);
  rows = step(rows, failed({ reason: "validation", keepsOrder: false }), T0);
  assert.deepEqual([rows.record?.finalized, rows.record?.order], [[T0], null]);
  rows = step(rows, { kind: "begun", id: "o2", key: "K3", replaces: null }, T0 + MINUTE);
  rows = step(rows, { kind: "ordered", url: "u" }, T0 + MINUTE);
  rows = step(rows, { kind: "ready" }, T0 + MINUTE);
  rows = step(rows, failed({ reason: "bad_certificate", keepsOrder: false }), T0 + MINUTE);
  assert.deepEqual(nextEffect(rows, wanted, T0 + 7 * HOUR), { do: "wait", until: T0 + DAY });
  assert.equal(nextEffect(rows, { ...wanted, settings: "s2" }, T0 + 7 * HOUR).do, "wait", "settings do not lift it");
  assert.equal(nextEffect(rows, wanted, T0 + DAY).do, "begin");
  assert.equal(allowedFrom({ finalized: [T0 + 90 * DAY, T0 + 91 * DAY] }, T0), 0, "times of a clock that was ahead");
});

test("an order stuck in processing is continued, without a second one beside it", () => {
  let rows: OrderRows = { account, record: recordOf({ order: orderOf("download"), finalized: [T0] }) };
  for (let turn = 0, now = T0; turn < 20; turn += 1) {
    rows = step(rows, failed({ reason: "processing", retryAt: now + 5 * MINUTE }), now);
    const effect = nextEffect(rows, wanted, now);
    assert.equal(effect.do, "wait");
    now = effect.do === "wait" ? effect.until : now;
    assert.equal(nextEffect(rows, wanted, now).do, "download");
    assert.equal(rows.record?.order?.id, "o1");
  }
});

test("with a clock an hour off the stored certificate stays, and it is renewed neither at once nor never", () => {
  const issued = issuedAt(T0);
  const due = renewalDue(issued);
  const rows: OrderRows = { account, record: recordOf({ issued }) };
  for (const skew of [-HOUR, HOUR]) {
    const effect = nextEffect(rows, wanted, T0 + skew);
    assert.deepEqual(effect, { do: "wait", until: due });
  }
  // A failure written with a clock ahead of ours causes no longer wait than it states.
  const late = step(rows, failed(), due + HOUR);
  assert.deepEqual(nextEffect(late, wanted, due), { do: "wait", until: due + HOUR + MINUTE });
});

test("a wait caused by a clock hours ahead ends once the clock is right", () => {
  const ahead = T0 + 200 * DAY;
  const order: OrderRows = { account, record: recordOf({ order: orderOf("check") }) };
  const late = nextState(order, nextEffect(order, wanted, T0), failed({ retryAt: ahead + DAY }), wanted, ahead);
  assert.equal(nextEffect(late, wanted, T0).do, "check");
  assert.equal(nextEffect(late, wanted, ahead).do, "wait", "where the clock is right it is waited for");
  const rowsWithAskAt: OrderRows = {
    account,
    record: recordOf({ issued: issuedAt(T0, 400 * DAY, { askAt: ahead + HOUR }) }),
  };
  assert.equal(nextEffect(rowsWithAskAt, wanted, T0).do, "ask");
  const record = txtRecordOf("a.example", "token", "thumb");
  const cleaned: OrderRows = { account, record: recordOf({ issued: issuedAt(T0), litter: [record], cleanAt: ahead }) };
  assert.equal(nextEffect(cleaned, wanted, T0).do, "clean");
  assert.equal(allowedFrom({ finalized: [T0, T0 + HOUR] }, T0), T0 + DAY, "of a leader that was an hour ahead");
});

test("an unknown account is registered again with its key", () => {
  let rows: OrderRows = { account, record: recordOf({ order: orderOf("order", { url: null }) }) };
  rows = step(rows, failed({ reason: "account", keepsOrder: false, losesAccount: true }), T0);
  assert.deepEqual(rows.account, { ...account, url: null });
  const effect = nextEffect(rows, wanted, T0 + MINUTE);
  assert.deepEqual(effect, { do: "register", account: { ...account, url: null } });
  rows = nextState(rows, effect, { kind: "registered", url: "https://ca/a/2" }, wanted, T0 + MINUTE);
  assert.deepEqual(rows.account, { ...account, url: "https://ca/a/2" });
});

test("challenge records are removed after failure and success, by any leader, until none is left", () => {
  const dns: WantedCertificate = { ...wanted, type: "dns-01" };
  const challenge = { authorization: "z", url: "c", name: "a.example", token: "token" };
  const order = orderOf("respond", { type: "dns-01", challenges: [challenge] });
  const record = txtRecordOf("a.example", "token", "thumb");
  for (const answer of [failed({ reason: "validation", keepsOrder: false })]) {
    let rows = step({ account, record: recordOf({ order }) }, answer, T0, dns);
    assert.deepEqual(nextEffect(rows, dns, T0), { do: "clean", records: [record] });
    rows = step(rows, { kind: "cleaned", left: [record] }, T0, dns);
    assert.deepEqual(nextEffect(rows, dns, T0 + MINUTE).do, "begin", "it holds nothing up");
    rows = { ...rows, record: recordOf({ litter: [record], cleanAt: T0 + HOUR, issued: issuedAt(T0) }) };
    assert.deepEqual(nextEffect(rows, dns, T0), { do: "wait", until: T0 + HOUR });
    rows = step(rows, { kind: "cleaned", left: [] }, T0 + HOUR, dns);
    assert.deepEqual([rows.record?.litter, rows.record?.cleanAt], [[], 0]);
  }
  const kept = step({ account, record: recordOf({ order }) }, failed({ reason: "dns_propagation" }), T0, dns);
  assert.deepEqual(kept.record?.litter, [], "an order that is gone on with keeps its records");
  const other: OrderRows = { account, record: recordOf({ order }) };
  assert.deepEqual(nextEffect(other, wanted, T0), { do: "abandon" });
  assert.deepEqual(step(other, { kind: "abandoned" }, T0).record?.litter, [record]);
});

test("each state accepts its own answers, and others change nothing", () => {
  const answers: readonly EffectResult[] = [
    { kind: "ordered", url: "u" },
    { kind: "pending", challenges: [] },
    { kind: "ready" },
    { kind: "handed_in" },
    { kind: "published" },
    { kind: "validated" },
    { kind: "issued", issued: issuedAt(T0) },
  ];
  for (const at of Object.keys(STEPS) as Step[]) {
    const record = recordOf({ order: orderOf(at) });
    const effect: Effect = { do: at, account, order: orderOf(at) };
    for (const answer of answers) {
      const next: CertificateRecord | undefined = nextState({ account, record }, effect, answer, wanted, T0).record;
      const leads = STEPS[at][answer.kind];
      assert.equal(next === record, leads === undefined, `${at} ${answer.kind}`);
      if (leads !== undefined) assert.equal(next?.order?.step ?? "end", leads);
    }
    assert.equal(
      nextState({ account, record: recordOf({}) }, effect, { kind: "ready" }, wanted, T0).record?.order,
      null,
    );
  }
});

test("Retry-After is seconds or a date, anything else is ignored; renewal information is read every minute to every day", () => {
  for (const [value, expected] of [
    ["120", T0 + 120_000],
    [" 0 ", T0],
    ["999999999", T0 + 999_999_999_000],
    [new Date(T0 + DAY).toUTCString(), T0 + DAY],
    ["-1x", undefined],
    ["99999999999999999999", undefined],
    ["", undefined],
    [undefined, undefined],
    [["1", "2"], undefined],
  ] as const) {
    assert.equal(retryAtOf(value, T0), expected, String(value));
  }
  assert.deepEqual(
    [undefined, 1, 2 * HOUR, 400 * DAY, -5].map((ms) => nextRenewalInfoRequest(T0, ms) - T0),
    [6 * HOUR, MINUTE, 2 * HOUR, DAY, MINUTE],
  );
});
