/** Page of metrics, as registered in the source, and of the alert rules among the examples. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { anchor, code, type Page, sentence, table } from "./page.ts";

interface Metric {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
}

/** A call whose first arguments are the name and help of a series, followed by bounds and labels. */
const REGISTERED =
  /([\w.]+)\(\s*"((?:gateway|process|nodejs|gen_ai)[_.][a-z0-9_.]+)",\s*("(?:[^"\\]|\\.)*"(?:\s*\+\s*"(?:[^"\\]|\\.)*")*)(?:,\s*(?:[A-Z_]+,\s*)?\[([^\]]*)\])?/g;

function kindOf(call: string, name: string): Metric["kind"] {
  const method = call.toLowerCase();
  if (method.endsWith("histogram")) return "histogram";
  return method.endsWith("counter") || name.endsWith("_total") ? "counter" : "gauge";
}

const stringsIn = (literals: string): readonly string[] =>
  [...literals.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) => JSON.parse(`"${text}"`) as string);

function metricsIn(source: string): readonly Metric[] {
  return [...source.matchAll(REGISTERED)].map(([, call = "", name = "", help = "", labels = ""]) => ({
    name,
    kind: kindOf(call, name),
    help: stringsIn(help).join(""),
    labels: stringsIn(labels),
  }));
}

/** All metrics of the program, by name. */
export function allMetrics(root: string): readonly Metric[] {
  const folder = join(root, "src");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  const found = files.flatMap((path) => metricsIn(readFileSync(join(folder, path), "utf8")));
  return [...new Map(found.map((metric) => [metric.name, metric])).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

interface AlertRule {
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: { readonly severity?: string };
  readonly annotations?: { readonly summary?: string; readonly action?: string };
}

const RULES = "examples/deploy/monitoring/rules.yaml";

function alertRows(root: string): readonly (readonly string[])[] {
  const { groups } = parse(readFileSync(join(root, RULES), "utf8")) as {
    readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
  };
  return groups
    .flatMap(({ rules }) => rules)
    .flatMap(({ alert, expr, for: lasting, labels, annotations }) =>
      alert === undefined
        ? []
        : [
            [
              `${anchor(alert.toLowerCase())}${code(alert)}`,
              labels?.severity ?? "",
              `${code(expr.replace(/\s+/g, " "))}${lasting === undefined ? "" : ` for ${lasting}`}`,
              `${placeholders(annotations?.summary)} ${placeholders(annotations?.action)}`,
            ],
          ],
    );
}

/** Replaces labels in an alert's text with words for the reader: `{{ $labels.instance }}` becomes the instance. */
const placeholders = (text = ""): string =>
  sentence(text.replace(/\{\{ *\$labels\.(\w+) *\}\}/g, "<$1>").replace(/\{\{ *\$value[^}]*\}\}/g, "<value>"));

export function metricsPage(root: string): Page {
  const rows = allMetrics(root).map(({ name, kind, help, labels }) => [
    `${anchor(name)}${code(name)}`,
    kind,
    labels.map(code).join(", "),
    sentence(help),
  ]);
  return {
    path: "metrics.md",
    title: "Metrics and alerts",
    order: 8,
    about: "Every series that a node exposes, and the alert rules that come with the examples.",
    body: [
      "A node serves these series at `/metrics` on `metrics_listen`. A histogram has the suffixes `_bucket`, `_sum` and `_count`. Labels hold configured names and fixed words, never what a caller sent.",
      "## Metrics",
      table(["Name", "Type", "Labels", "Description"], rows),
      "## Alerts",
      `The rules are in [examples/deploy/monitoring](../../${RULES}), for Prometheus. The severity \`page\` wakes somebody up, \`ticket\` waits for the morning.`,
      table(["Alert", "Severity", "Fires when", "Meaning and action"], alertRows(root)),
    ].join("\n\n"),
  };
}
