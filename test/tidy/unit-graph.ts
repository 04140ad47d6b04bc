/**
 * Graph of the folders of `src/` and `src/server/` by their imports, for docs/contributing/architecture.md. The folders of
 * `src/server/core` are one node. `base` is left out, since every folder may import it.
 */
import { filesUnder, sourceFile } from "./source.ts";

/** Returns the node of a file: its folder in `src/server/`, otherwise in `src/`. */
function nodeOf(path: string): string | undefined {
  const [, inner = "", folder = ""] = /^src\/(server\/)?([^/]+)\//.exec(path) ?? [];
  return folder === "" || folder === "base" ? undefined : `${inner}${folder}`;
}

type Edges = ReadonlyMap<string, ReadonlySet<string>>;

/** Returns the folders that each folder imports. */
function importsByNode(): Edges {
  const edges = new Map<string, Set<string>>();
  for (const path of filesUnder("src").filter((it) => /\.tsx?$/.test(it))) {
    const from = nodeOf(path);
    if (from === undefined) continue;
    const targets = edges.get(from) ?? new Set();
    edges.set(from, targets);
    for (const { target } of sourceFile(path).imports) {
      const to = target === undefined ? undefined : nodeOf(target);
      if (to !== undefined && to !== from) targets.add(to);
    }
  }
  return edges;
}

/** Returns everything that a folder reaches. */
function reached(edges: Edges, from: string, seen = new Set<string>()): ReadonlySet<string> {
  for (const to of edges.get(from) ?? []) {
    if (seen.has(to)) continue;
    seen.add(to);
    reached(edges, to, seen);
  }
  return seen;
}

/** Returns the length of the longest path below a folder. */
const heightOf = (edges: Edges, node: string): number =>
  Math.max(0, ...Array.from(edges.get(node) ?? [], (to) => 1 + heightOf(edges, to)));

/** Returns the graph as a Mermaid diagram without the arrows that follow from others, and the folders on a circle. */
export function unitGraph(): { readonly diagram: string; readonly circles: readonly string[] } {
  const edges = importsByNode();
  const circles = [...edges.keys()].filter((node) => reached(edges, node).has(node));
  if (circles.length > 0) return { diagram: "", circles };
  const nodes = [...edges.keys()].sort((a, b) => heightOf(edges, b) - heightOf(edges, a) || (a < b ? -1 : 1));
  const lines = nodes.flatMap((from) => {
    const targets = [...(edges.get(from) ?? [])].sort();
    const direct = targets.filter((to) => !targets.some((by) => by !== to && reached(edges, by).has(to)));
    return direct.length === 0 ? [] : [`  ${idOf(from)} --> ${direct.map(idOf).join(" & ")}`];
  });
  const named = nodes.map((node) => `  ${idOf(node)}["${node}"]`);
  return { diagram: ["```mermaid", "flowchart TB", ...named, ...lines, "```"].join("\n"), circles };
}

const idOf = (node: string): string => node.replaceAll(/[^a-z]/g, "_");
