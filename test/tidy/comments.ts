/** The comments of a source file. Consecutive lines that begin with `//` are one comment. */

interface Comment {
  /** First line of the comment, from 1. */
  readonly line: number;
  /** The comment's words in one line, without comment marks. */
  readonly text: string;
}

export function commentsOf(source: string): readonly Comment[] {
  const found: { line: number; parts: string[] }[] = [];
  let open: { line: number; parts: string[]; kind: "block" | "lines" } | undefined;
  const close = (): void => {
    if (open !== undefined) found.push(open);
    open = undefined;
  };
  for (const [index, line] of source.split("\n").entries()) {
    if (open?.kind === "block") {
      open.parts.push(line.replace(/\*\/.*/, "").replace(/^\s*\*? ?/, ""));
      if (line.includes("*/")) close();
      continue;
    }
    const inLine = /^\s*\/\/ ?(.*)/.exec(line);
    if (inLine !== null) {
      open ??= { line: index + 1, parts: [], kind: "lines" };
      open.parts.push(inLine[1] ?? "");
      continue;
    }
    close();
    const block = /^\s*(?:\{)?\/\*\*?(.*)/.exec(line);
    if (block === null) continue;
    open = { line: index + 1, parts: [(block[1] ?? "").replace(/\*\/.*/, "")], kind: "block" };
    if (line.includes("*/")) close();
  }
  close();
  return found.map(({ line, parts }) => ({ line, text: parts.join(" ").replace(/\s+/g, " ").trim() }));
}
