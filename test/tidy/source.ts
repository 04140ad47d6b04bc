/** The repository's files and their imports, read with regular expressions because the compiler has no API for it. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { MAY_IMPORT } from "./table.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..", "..");

const SKIPPED: ReadonlySet<string> = new Set([".git", "node_modules", "dist"]);

/** Generated files, in a style of their own; other tests check that they are current. */
const GENERATED = /\.generated\.ts$/;

/**
 * Paths from the root, with forward slashes, of every file under `folder` that is not installed, built or generated.
 */
export function filesUnder(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !SKIPPED.has(name))
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name);
      return entry.isDirectory() ? filesUnder(path) : GENERATED.test(path) ? [] : [path];
    });
}

export function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

export interface Import {
  /** Text between the quotes. */
  readonly specifier: string;
  /** For a relative specifier, the imported file from the root. */
  readonly target: string | undefined;
  readonly kind: "value" | "type" | "lazy";
  /** Names between the braces, without `type`. */
  readonly names: readonly string[];
}

export interface SourceFile {
  readonly path: string;
  /** The code without comments and with emptied strings; line ends are kept. */
  readonly code: string;
  readonly imports: readonly Import[];
}

export function sourceFile(path: string, text = read(path)): SourceFile {
  return { path, code: strip(text, { texts: true }), imports: importsOf(path, strip(text, { texts: false })) };
}

/** The unit of a file under src/: the longest matching folder of the table. */
export function unitOf(path: string): string | undefined {
  const inner = path.replace(/^src\//, "");
  return Object.keys(MAY_IMPORT)
    .filter((unit) => inner.startsWith(`${unit}/`))
    .sort((a, b) => b.length - a.length)[0];
}

const STATIC = /^\s*(?:import|export)\s+(type\s+)?(?:([^"';]*?)\s+from\s+)?["']([^"']+)["']/gm;
const DYNAMIC = /\bimport\(\s*["']([^"']+)["']\s*\)(\.\w)?/g;

function importsOf(path: string, code: string): readonly Import[] {
  const found: Import[] = [];
  for (const [, type, clause = "", specifier = ""] of code.matchAll(STATIC)) {
    const members = (/\{([^}]*)\}/.exec(clause)?.[1] ?? "").split(",").map((name) => name.trim());
    const named = members.filter((name) => name !== "");
    const isType = type !== undefined || (clause.startsWith("{") && named.every((name) => name.startsWith("type ")));
    found.push({
      specifier,
      target: targetOf(path, specifier),
      kind: isType && named.length > 0 ? "type" : type !== undefined ? "type" : "value",
      names: named.map((name) => name.replace(/^type\s+/, "").replace(/\s+as\s.*$/, "")),
    });
  }
  for (const [, specifier = "", member] of code.matchAll(DYNAMIC)) {
    // `import("x").Name` is a type; a promise's own methods are lower case.
    const kind = member !== undefined && /[A-Z]/.test(member) ? "type" : "lazy";
    found.push({ specifier, target: targetOf(path, specifier), kind, names: [] });
  }
  return found;
}

function targetOf(path: string, specifier: string): string | undefined {
  return specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : undefined;
}

/**
 * Removes comments and, on request, quoted text, so that a word in prose is not mistaken for code. A template's
 * substitutions stay. A regular expression with a quote may confuse it until the end of the line.
 */
function strip(text: string, { texts }: { readonly texts: boolean }): string {
  const TOKEN =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/(?![*/\s])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*(?=\s*[.,;)\]}\n])/g;
  return text.replace(TOKEN, (token) => {
    if (token.startsWith("//") || token.startsWith("/*")) return token.replace(/[^\n]/g, "");
    return texts ? `${token[0]}${token.at(-1)}` : token;
  });
}
