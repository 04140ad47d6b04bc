/** Every string position in the types of the official SDKs, each with the smallest value that has one there. */
import { fileURLToPath } from "node:url";
import ts from "typescript";

export interface Position {
  /** Member names; `*` for one that the type does not name. Lists have none. */
  readonly path: readonly string[];
  readonly valueWith: (canary: string) => unknown;
}

const FILE = fileURLToPath(new URL("sdk-types.ts", import.meta.url));
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  strict: true,
  skipLibCheck: true,
  types: [],
  lib: ["lib.es2022.d.ts"],
};
/** Maximum nesting; schema types contain themselves. */
const MAX_DEPTH = 12;

/** Positions by the text of each type, such as `import("openai").OpenAI.Chat.ChatCompletion`. */
export function positionsIn(types: readonly string[]): ReadonlyMap<string, readonly Position[]> {
  const source = types.map((type, at) => `export type T${at} = ${type};`).join("\n");
  const host = ts.createCompilerHost(OPTIONS);
  const { getSourceFile, fileExists } = host;
  host.getSourceFile = (name, ...more) =>
    name === FILE ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2022, true) : getSourceFile(name, ...more);
  host.fileExists = (name) => name === FILE || fileExists(name);
  const program = ts.createProgram([FILE], OPTIONS, host);
  const checker = program.getTypeChecker();
  const found = new Map<string, readonly Position[]>();
  for (const [at, statement] of (program.getSourceFile(FILE)?.statements ?? []).entries()) {
    if (!ts.isTypeAliasDeclaration(statement)) continue;
    const type = checker.getTypeAtLocation(statement.name);
    if (type.flags & ts.TypeFlags.Any) throw new Error(`there is no type ${types[at] ?? ""}`);
    found.set(types[at] ?? "", distinct(positionsOf(type, [], checker)));
  }
  return found;
}

/** Members of an enumeration, and types that differ elsewhere, give the same values. */
function distinct(positions: readonly Position[]): readonly Position[] {
  const byValue = new Map(positions.map((position) => [JSON.stringify(position.valueWith("?")), position]));
  return [...byValue.values()];
}

function positionsOf(type: ts.Type, within: readonly ts.Type[], checker: ts.TypeChecker): readonly Position[] {
  if (type.isUnion()) {
    const members = type.types.filter((member) => !isString(member));
    const inner = members.flatMap((member) => positionsOf(member, within, checker));
    return members.length === type.types.length ? inner : [HERE, ...inner];
  }
  if (isString(type)) return [HERE];
  if (type.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) return [HERE, below("*", HERE, {})];
  if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return [];
  if (within.includes(type) || within.length > MAX_DEPTH || type.getCallSignatures().length > 0) return [];
  const deeper = [...within, type];
  if (checker.isArrayType(type) || checker.isTupleType(type)) {
    const items = checker.getTypeArguments(type as ts.TypeReference);
    return items.flatMap((item) =>
      positionsOf(item, deeper, checker).map((position) => ({
        path: position.path,
        valueWith: (canary: string) => [position.valueWith(canary)],
      })),
    );
  }
  const members = checker.getPropertiesOfType(type).map((symbol) => {
    const isOptional = (symbol.flags & ts.SymbolFlags.Optional) !== 0;
    return { name: symbol.name, type: checker.getNonNullableType(checker.getTypeOfSymbol(symbol)), isOptional };
  });
  const beside = Object.fromEntries(
    members.flatMap((member) => {
      const literal = member.isOptional ? undefined : literalOf(member.type);
      return literal === undefined ? [] : [[member.name, literal] as const];
    }),
  );
  const indexed = type.getStringIndexType();
  const unnamed = indexed === undefined ? [] : positionsOf(indexed, deeper, checker);
  return [
    ...unnamed.map((position) => below("*", position, beside)),
    ...members.flatMap((member) =>
      positionsOf(member.type, deeper, checker).map((position) => below(member.name, position, beside)),
    ),
  ];
}

const HERE: Position = { path: [], valueWith: (canary) => canary };

const isString = (type: ts.Type): boolean =>
  (type.flags & (ts.TypeFlags.String | ts.TypeFlags.StringLiteral | ts.TypeFlags.TemplateLiteral)) !== 0;

const below = (name: string, inner: Position, beside: Readonly<Record<string, string>>): Position => ({
  path: [name, ...inner.path],
  valueWith: (canary) => ({ ...beside, [name === "*" ? "some_name" : name]: inner.valueWith(canary) }),
});

/** Returns the required value of a member, or the first of several. */
function literalOf(type: ts.Type): string | undefined {
  if (type.isStringLiteral()) return type.value;
  return type.isUnion() && type.types.every((member) => member.isStringLiteral())
    ? (type.types[0] as ts.StringLiteralType).value
    : undefined;
}
