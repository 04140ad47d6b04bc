/** Tree as rows with branch lines. Drawn with box characters; `ascii.ts` replaces them. */

export interface TreeNode<T> {
  readonly value: T;
  readonly children: readonly TreeNode<T>[];
}

export interface TreeRow<T> {
  readonly value: T;
  /** Branch lines before the node, `│  ├─ `; empty for a root. */
  readonly branch: string;
}

/** Lists every node of the tree, a parent before its children. */
export function rowsOfTree<T>(root: TreeNode<T>): readonly TreeRow<T>[] {
  const rows: TreeRow<T>[] = [];
  const add = ({ value, children }: TreeNode<T>, branch: string, indent: string): void => {
    rows.push({ value, branch });
    for (const [at, child] of children.entries()) {
      const isLast = at === children.length - 1;
      add(child, `${indent}${isLast ? "└─ " : "├─ "}`, `${indent}${isLast ? "   " : "│  "}`);
    }
  };
  add(root, "", "");
  return rows;
}
