/** Finds the texts of a source file that a person may read: errors, log lines, labels, help. */

import ts from "typescript";

interface Text {
  /** The text with `{name}` for each substitution. Concatenated parts are joined. */
  readonly text: string;
  /** First line of the text, from 1. */
  readonly line: number;
}

/** Two words with a space between them. Names, codes, paths and patterns do not match. */
const SENTENCE = /[\p{L}\d`'")}][,.:;]? +[`'"({]?[\p{L}\d]/u;
/** Properties whose text is shown even if it is a single word. */
const SHOWN = new Set(["label", "title", "hint", "heading", "summary", "help", "message", "description", "empty"]);
/** Texts for programs: regular expressions, queries, header lines, and shell fragments of completion scripts. */
const CODE = /^(?:SELECT|INSERT|#!|\^|\\)|[$\\]\{|=>|^\s*[\w-]+: [\w*/]+;?$/;

/** Returns the texts of a file in order of their lines. */
export function textsOf(path: string, source: string): readonly Text[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const found: Text[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return;
    const text = textOf(node);
    if (text === undefined) {
      ts.forEachChild(node, visit);
      return;
    }
    if (isShown(node, text)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      found.push({ text: text.replace(/\s+/g, " ").trim(), line: line + 1 });
    }
    // Substitutions may contain further texts, such as the branches of a condition.
    for (const part of substitutions(node)) visit(part);
  };
  visit(file);
  return found;
}

/** Returns the joined text of a literal, a template or a concatenation of them; `undefined` for other nodes. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isJsxText(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    const rest = node.templateSpans.map(({ expression, literal }) => `{${nameOf(expression)}}${literal.text}`);
    return node.head.text + rest.join("");
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    const [left, right] = [textOf(node.left), textOf(node.right)];
    if (left === undefined && right === undefined) return undefined;
    return `${left ?? `{${nameOf(node.left)}}`}${right ?? `{${nameOf(node.right)}}`}`;
  }
  return undefined;
}

function substitutions(node: ts.Node): readonly ts.Node[] {
  if (ts.isTemplateExpression(node)) return node.templateSpans.map(({ expression }) => expression);
  if (!ts.isBinaryExpression(node)) return [];
  return [node.left, node.right].flatMap((side) => (textOf(side) === undefined ? [side] : substitutions(side)));
}

/** Returns the last name of an expression, such as `length` for `items.length`; "…" if it has none. */
function nameOf(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  if (ts.isCallExpression(node)) return nameOf(node.expression);
  if (ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node)) return nameOf(node.expression);
  return "…";
}

function isShown(node: ts.Node, text: string): boolean {
  if (CODE.test(text)) return false;
  if (SENTENCE.test(text)) return true;
  const { parent } = node;
  return ts.isPropertyAssignment(parent) && ts.isIdentifier(parent.name) && SHOWN.has(parent.name.text) && text !== "";
}
