/** Report of an import, in Markdown: which settings were carried over, changed or left out, by line of the source. Pure. */

import { formatPath, type Path } from "../../server/core/config/index.ts";
import { counterpartOf, linkTo } from "./counterparts.ts";
import type { Note, SettingLocation } from "./foreign-source.ts";
import type { Imported, System } from "./import-configuration.ts";

interface ReportOptions {
  readonly system: System;
  /** Name of the system as its makers write it. */
  readonly title: string;
  /** Source and document, as the command line named them. */
  readonly source: string;
  readonly document: string | undefined;
}

type Import = Extract<Imported, { kind: "imported" }>;

export function reportText(imported: Import, options: ReportOptions): string {
  const { notes, carriedOver, models, variables, providers } = imported;
  const changed = notes.filter(({ kind }) => kind === "changed");
  const leftOut = notes.filter(({ kind }) => kind === "left-out");
  const target = options.document === undefined ? "a deployment document" : code(options.document);
  return [
    "# Import report",
    providers === 0
      ? `The ${options.title} configuration ${code(options.source)} could not be imported: no provider was carried over.`
      : `The ${options.title} configuration ${code(options.source)} was imported into ${target}.`,
    "Lines are those of the source. Pages are those of the gateway's documentation.",
    table(
      ["Settings", "Number"],
      [
        ["carried over", String(carriedOver.length)],
        ["changed", String(changed.length)],
        ["left out", String(leftOut.length)],
      ],
    ),
    "## What to do next",
    steps(variables, changed.length + leftOut.length, providers),
    ...(models.length === 0 ? [] : ["## Models that clients can ask for", modelsTable(models)]),
    "## Left out",
    leftOut.length === 0 ? "Nothing was left out." : notesTable(leftOut, options.system),
    "## Changed",
    changed.length === 0 ? "Nothing was changed." : notesTable(changed, options.system),
    "## Carried over",
    carriedOver.length === 0 ? "Nothing was carried over." : carriedTable(carriedOver, options.system),
  ]
    .join("\n\n")
    .concat("\n");
}

function steps(variables: Import["variables"], notes: number, providers: number): string {
  const names = [...variables.keys()].sort().map(code);
  const all = [
    ...(providers === 0
      ? []
      : [
          names.length === 0
            ? "The document reads no environment variables."
            : `Set the environment variables ${names.join(", ")}, or use \`\${secret:NAME}\` in their place ([References](docs/concepts/configuration.md#references)).`,
        ]),
    ...(notes === 0 ? [] : ["Read the tables “Left out” and “Changed” below."]),
    ...(providers === 0
      ? ["Name unknown providers with `-preset NAME=PRESET`, then import again."]
      : [
          "Name the document in a node file ([In front of a real provider](README.md#in-front-of-a-real-provider)).",
          "Run `gateway check -offline -config NODE_FILE`, then the same without `-offline`.",
        ]),
  ];
  return all.map((step, at) => `${at + 1}. ${step}`).join("\n");
}

const modelsTable = (models: Import["models"]): string =>
  table(
    ["Name", "Provider", "Sent as", "Then"],
    models.map(({ name, provider, sent, failover }) => [
      name === undefined ? "every other name" : code(name),
      code(provider),
      sent === undefined || sent === name ? "the same" : code(sent),
      failover.map(code).join(", "),
    ]),
  );

const notesTable = (notes: readonly Note[], system: System): string =>
  table(
    ["Line", "Setting", "Note", "Page"],
    notes.map(({ line, path, keyPath, unit, message }) => [
      String(line),
      unit === undefined ? (path === "" ? "" : code(path)) : `all of ${code(formatPath(unit))}`,
      escaped(message.replace(/^left out: /, "")),
      linkTo(counterpartOf(system, keyPath).page),
    ]),
  );

/** Returns a table with one row for all settings of an object that become the same key. */
function carriedTable(places: readonly SettingLocation[], system: System): string {
  const rows = new Map<
    string,
    {
      readonly line: number;
      readonly unit: string;
      readonly names: string[];
      readonly key: string;
      readonly link: string;
    }
  >();
  for (const { line, path } of places) {
    const unit = unitOf(path);
    const { key, page } = counterpartOf(system, path);
    const link = linkTo(page);
    const id = JSON.stringify([unit, key, link]);
    const row = rows.get(id) ?? {
      line,
      unit: formatPath(unit),
      names: [],
      key: key === undefined ? "" : code(key),
      link,
    };
    rows.set(id, row);
    row.names.push(formatPath(path.slice(unit.length)));
  }
  return table(
    ["Line", "Part", "Settings", "Becomes", "Page"],
    [...rows.values()].map(({ line, unit, names, key, link }) => [
      String(line),
      code(unit),
      names
        .filter((name) => name !== "")
        .map(code)
        .join(", "),
      key,
      link,
    ]),
  );
}

/** Returns the path of the list item that a setting belongs to, or of its section. */
function unitOf(path: Path): Path {
  const index = path.findLastIndex((step) => typeof step === "number");
  return index >= 0 && index < path.length - 1 ? path.slice(0, index + 1) : path.slice(0, Math.max(1, path.length - 1));
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Matches control characters and characters that reverse text, which could forge lines of the report. */
const INVISIBLE = /[^\u0020-\u007e\u00a0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/g;

/** Returns a Markdown code span for a table cell. */
function code(text: string): string {
  const shown = text.replace(INVISIBLE, "?").replaceAll("|", "\\|");
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return longest === 0 ? `\`${shown}\`` : `${fence} ${shown} ${fence}`;
}

const escaped = (text: string): string => text.replace(INVISIBLE, "?").replaceAll("|", "\\|").replaceAll("<", "&lt;");
