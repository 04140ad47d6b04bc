/** Detail of one provider: its state, its traffic and failover, and recent failures. */

import type { BackendFailure } from "../../admin-api/index.ts";
import { padTo } from "../format/cut-text.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { gapText } from "../format/missing-nodes.ts";
import { milliseconds, plural } from "../format/numbers.ts";
import { clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import type { Data } from "../model/data.ts";
import { BLANK, type Line, line, type Span, span } from "../model/text.ts";
import { stateLines } from "./measured.ts";
import {
  joinSpans,
  type ModelRoute,
  modelRoutes,
  type ProviderRow,
  providerNamed,
  providerSpan,
} from "./providers-facts.ts";
import { failoverText } from "./providers-table.ts";

/** Maximum number of failures in the pane. */
const FEW_FAILURES = 4;
/** Maximum number of names in a line. */
const MAX_MODELS = 8;

export function providerPane(name: string, context: Context): readonly Line[] {
  const row = providerNamed(context.data, name);
  return row === undefined ? [] : [...providerLines(row, context), ...failureLines(name, context, FEW_FAILURES)];
}

/** Describes everything that the pane may show, then the fields as the admin API returned them. */
export function describeProvider(name: string, context: Context): readonly Line[] {
  const row = providerNamed(context.data, name);
  if (row === undefined) return [line("The provider no longer exists.", "warn")];
  return [
    ...providerLines(row, context),
    ...failureLines(name, context, Number.POSITIVE_INFINITY),
    BLANK,
    ...Object.entries(row.record).map(([field, value]) => [
      span(field.padEnd(18), "dim"),
      shown(Array.isArray(value) ? value.join(", ") : String(value ?? "-")),
    ]),
  ];
}

function providerLines(row: ProviderRow, { data, now }: Context): readonly Line[] {
  const { name, ttfb_p50_ms: p50, ttfb_p95_ms: p95, retries, failovers_in: came, failovers_out: left } = row.record;
  return [
    ...stateLines(row, "attempts", now),
    labeledLine(
      "measured",
      span(
        `first byte p50 ${milliseconds(p50)} p95 ${milliseconds(p95)}; ${plural(retries, "retry", "retries")}; failover ${failoverText(came, left)}`,
      ),
    ),
    ...poolLines(row),
    ...routes(name, data),
  ];
}

/** Describes the pool of a provider. */
function poolLines({ record: { members, subsets } }: ProviderRow): readonly Line[] {
  if (members === 0 && subsets.length === 0) return [];
  return [
    labeledLine(
      "pool",
      span(plural(members, "server", "servers"), members === 0 ? "fail" : "plain"),
      ...(subsets.length === 0 ? [] : [shown(`; subsets ${subsets.join(", ")}`)]),
      span("; M lists them", "dim"),
    ),
  ];
}

/** Returns the reason why there is no pool to show; `undefined` if there is one. */
export function whyNoMembers(data: Data, name: string): string | undefined {
  const row = providerNamed(data, name);
  if (row === undefined) return "the provider no longer exists";
  const { members, subsets } = row.record;
  return members > 0 || subsets.length > 0 ? undefined : `${name} is not a pool, or its name resolves to no server`;
}

function routes(name: string, data: Data): readonly Line[] {
  if (data.get({ id: "list_models" })?.value === undefined) return [labeledLine("serves", span("not known", "dim"))];
  const all = modelRoutes(data);
  const own = all.filter(({ model }) => model.provider === name);
  const targets = [...new Set(own.flatMap(({ model }) => model.failover))];
  const failoverFor = new Set(
    all.filter(({ model }) => model.failover.includes(name)).map(({ model }) => model.provider),
  );
  return [
    labeledLine("serves", ...namesOf(own.map(modelText))),
    labeledLine(
      "failover",
      ...(targets.length === 0 ? [span("none")] : joinSpans(targets.map((it) => providerSpan(data, it)))),
    ),
    ...(failoverFor.size === 0
      ? []
      : [labeledLine("after", ...joinSpans([...failoverFor].map((it) => providerSpan(data, it))))]),
  ];
}

/** Returns the name of a model, for an alias `gpt-fast -> acme-small`. */
function modelText({ model: { model, upstream_model: upstream } }: ModelRoute): string {
  return upstream === null ? model : `${model} -> ${upstream}`;
}

function namesOf(names: readonly string[]): readonly Span[] {
  if (names.length === 0) return [span("no model is routed to it first", "dim")];
  const more = names.length - MAX_MODELS;
  return [
    shown(names.slice(0, MAX_MODELS).join(", ")),
    ...(more > 0 ? [span(` and ${more} more; f shows all`, "dim")] : []),
  ];
}

function failureLines(name: string, { data, now }: Context, most: number): readonly Line[] {
  const reading = data.get({ id: "list_backend_errors", name });
  if (reading?.value === undefined) {
    return reading?.failure === undefined ? [] : [labeledLine("failures", shown(reading.failure.message, "dim"))];
  }
  const { value, gaps } = reading;
  const missing = gaps === undefined ? [] : [labeledLine("", span(gapText(gaps), "warn"))];
  const [first, ...others] = value.slice(0, Math.max(1, most - missing.length));
  if (first === undefined) {
    return [labeledLine("failures", span("none on any node that answers, since its start", "dim")), ...missing];
  }
  return [
    labeledLine("failures", ...failureSpans(first, name, now)),
    ...others.map((failure) => labeledLine("", ...failureSpans(failure, name, now))),
    ...missing,
  ];
}

function failureSpans(
  { time, status, kind, attempt, moved_to: movedTo, reason = "" }: BackendFailure,
  name: string,
  now: number,
) {
  return [
    span(padTo(clock(Date.parse(time), now), 11)),
    span(padTo(String(status ?? "-"), 4), "fail"),
    shown(padTo(kind, 10)),
    span(`  attempt ${attempt}`),
    shown(`  ${failoverTargetText(movedTo, name)}`, "dim"),
    ...(reason === "" ? [] : [shown(`  ${reason}`)]),
  ];
}

/** Describes where a failed attempt at the provider `name` continued. */
export const failoverTargetText = (movedTo: string | null, name: string): string =>
  movedTo === null ? "no failover" : movedTo === name ? "retried here" : `failed over to ${movedTo}`;

/** Describes the routing of its requests: each name with its providers, then those for which it is a failover. */
export function routePage(name: string, { data }: Context): readonly Line[] {
  const all = modelRoutes(data);
  const own = all.filter(({ model }) => model.provider === name);
  const others = all.filter(({ model }) => model.failover.includes(name));
  const width = Math.min(40, Math.max(5, ...[...own, ...others].map(({ model }) => model.model.length)) + 2);
  const providers = ({ model, providers: names, first }: ModelRoute): Line => [
    shown(padTo(model.model, width)),
    ...joinSpans(
      names.map((it) => providerSpan(data, it)),
      " > ",
    ),
    ...(first === undefined ? [span("  NO PROVIDER LEFT", "fail")] : [shown(`  now uses ${first}`, "dim")]),
  ];
  return [
    line("Tried in this order; a suspended provider is skipped.", "dim"),
    BLANK,
    line(own.length === 0 ? "No model is routed to it first." : "ROUTED TO IT FIRST", "strong"),
    ...own.map(providers),
    ...(others.length === 0 ? [] : [BLANK, line("IT IS FAILOVER FOR", "strong"), ...others.map(providers)]),
  ];
}
