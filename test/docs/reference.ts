/** Pages of what the program says of itself: the keys of its documents, its verbs, what it refuses, what it measures. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { REFUSALS } from "../../src/base/index.ts";
import { VERBS } from "../../src/cli/verb-table.ts";
import { helpOf, overview } from "../../src/cli/verbs/help.ts";
import type { JsonSchema } from "../../src/server/core/config/index.ts";
import { escaped } from "./markdown.ts";

export interface Reference {
  readonly html: string;
  /** Title and id of what a search finds. */
  readonly entries: readonly { readonly title: string; readonly id: string }[];
}

/** `words` renders a description. */
export function schemaReference(schema: JsonSchema, words: (text: string) => string): Reference {
  const entries: { title: string; id: string }[] = [];
  const blocks: string[] = [];
  const top: string[] = [];
  const walk = (at: JsonSchema, path: string, isRequired: boolean): void => {
    if (path !== "") {
      const id = idOf(path);
      entries.push({ title: path, id });
      const level = path.includes(".") || path.includes("[") ? 4 : 3;
      if (level === 3) top.push(`<li><a href="#${id}"><code>${escaped(path)}</code></a></li>`);
      blocks.push(
        `<div class="key"><h${level} id="${id}"><code>${escaped(path)}</code></h${level}><p class="facts">${factsOf(at, isRequired)}</p><p>${words(String(at["description"] ?? ""))}</p></div>`,
      );
    }
    for (const [key, below] of Object.entries((at["properties"] ?? {}) as Record<string, JsonSchema>)) {
      const required = ((at["required"] ?? []) as readonly string[]).includes(key);
      walk(below, path === "" ? key : `${path}.${key}`, required);
    }
    const items = at["items"] as JsonSchema | undefined;
    if (items?.["properties"] !== undefined) walkInto(items, `${path}[]`);
    const values = at["additionalProperties"] as JsonSchema | boolean | undefined;
    if (typeof values === "object" && values["properties"] !== undefined) walkInto(values, `${path}.NAME`);
  };
  const walkInto = (at: JsonSchema, path: string): void => {
    for (const [key, below] of Object.entries((at["properties"] ?? {}) as Record<string, JsonSchema>)) {
      walk(below, `${path}.${key}`, ((at["required"] ?? []) as readonly string[]).includes(key));
    }
  };
  walk(schema, "", true);
  return { html: `<div class="toc"><ul>${top.join("")}</ul></div>${blocks.join("\n")}`, entries };
}

const idOf = (path: string): string => path.replaceAll("[]", "-each").replaceAll(".", "-");

function factsOf(schema: JsonSchema, isRequired: boolean): string {
  const items = schema["items"] as JsonSchema | undefined;
  const limited = ((schema["anyOf"] as readonly JsonSchema[] | undefined)?.[0] ?? {}) as JsonSchema;
  const choices = (schema["enum"] ??
    limited["enum"] ??
    items?.["enum"] ??
    (items?.["anyOf"] as readonly JsonSchema[] | undefined)?.[0]?.["enum"]) as readonly unknown[] | undefined;
  const type =
    schema["type"] === "array" ? `list of ${items?.["type"] ?? "values"}` : String(schema["type"] ?? "any value");
  const range = [
    ["minimum", "at least"],
    ["exclusiveMinimum", "above"],
    ["maximum", "at most"],
    ["minItems", "entries at least"],
    ["maxItems", "entries at most"],
  ].flatMap(([key = "", say = ""]) => (schema[key] === undefined ? [] : [`${say} ${String(schema[key])}`]));
  const code = (value: unknown): string =>
    `<code>${escaped(typeof value === "string" ? value : JSON.stringify(value))}</code>`;
  return [
    isRequired ? `${type}, required` : type,
    ...range,
    ...("default" in schema ? [`default ${schema["default"] === "" ? "empty" : code(schema["default"])}`] : []),
    ...(choices === undefined ? [] : [`one of ${choices.map(code).join(", ")}`]),
    ...(Array.isArray(schema["examples"]) ? [`such as ${schema["examples"].map(code).join(", ")}`] : []),
  ].join(" · ");
}

export function verbReference(): Reference {
  const verbs = VERBS.filter(({ name }) => name !== "help");
  const html = verbs.map((verb) => {
    const id = verb.name.replaceAll(" ", "-");
    return `<h2 id="${id}"><code>gateway ${escaped(verb.name)}</code></h2><p>${escaped(verb.summary)}.</p><pre tabindex="0"><code>${escaped(helpOf(verb).trim())}</code></pre>`;
  });
  return {
    html: `<pre tabindex="0"><code>${escaped(overview().trim())}</code></pre>${html.join("\n")}`,
    entries: verbs.map(({ name }) => ({ title: `gateway ${name}`, id: name.replaceAll(" ", "-") })),
  };
}

export function errorReference(words: (text: string) => string): Reference {
  const rows = Object.entries(REFUSALS).map(
    ([code, { status, mayRetry, when }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${mayRetry ? "yes" : "no"}</td><td>${words(when)}</td></tr>`,
  );
  const head = "<thead><tr><th>Code</th><th>Status</th><th>May be repeated</th><th>When</th></tr></thead>";
  return {
    html: `<p>What the gateway itself answers. Codes are stable; where a request may not usefully be repeated, the answer says so (<code>x-should-retry: false</code>).</p><div class="table" tabindex="0"><table>${head}<tbody>${rows.join("")}</tbody></table></div>`,
    entries: Object.keys(REFUSALS).map((code) => ({ title: code, id: code })),
  };
}

interface Metric {
  readonly name: string;
  readonly kind: string;
  readonly help: string;
  readonly labels: string;
}

const KINDS: Readonly<Record<string, string>> = {
  counter: "counter",
  gauge: "gauge",
  histogram: "histogram",
  observedGauge: "gauge",
};

/** As the source registers them: name, help and labels are literals there. */
export function metricsIn(source: string): readonly Metric[] {
  const found = source.matchAll(
    /instruments\.(counter|gauge|histogram|observedGauge)\(\s*"([a-z][a-z0-9_.]*)",\s*"((?:[^"\\]|\\.)*)"(?:\s*\+\s*"((?:[^"\\]|\\.)*)")?(?:,\s*\[([^\]]*)\])?/g,
  );
  return [...found].map(([, kind = "", name = "", help = "", more = "", labels = ""]) => ({
    name,
    kind: KINDS[kind] ?? kind,
    help: `${help}${more}`.replaceAll('\\"', '"'),
    labels: labels.replace(/["\s]/g, "").split(",").filter(Boolean).join(", "),
  }));
}

export function metricReference(root: string): Reference {
  const folder = join(root, "src");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  const metrics = files.flatMap((path) => metricsIn(readFileSync(join(folder, path), "utf8")));
  const unique = [...new Map(metrics.map((metric) => [metric.name, metric])).values()].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const rows = unique.map(
    ({ name, kind, help, labels }) =>
      `<tr id="${name}"><td><code>${name}</code></td><td>${kind}</td><td>${escaped(labels)}</td><td>${escaped(help)}</td></tr>`,
  );
  return {
    html: `<p>What <code>/metrics</code> of a node shows, each from its first value on.</p><div class="table" tabindex="0"><table><thead><tr><th>Series</th><th>Kind</th><th>Labels</th><th>What it says</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>`,
    entries: unique.map(({ name }) => ({ title: name, id: name })),
  };
}
