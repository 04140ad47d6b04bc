/** Contract of the admin API, one line each: operations with their parameters, and fields of requests and answers. */
import { openApiDocument } from "../../src/admin-api/index.ts";

type Node = Readonly<Record<string, unknown>>;
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);

export function promisedLines(): readonly string[] {
  const { paths, components } = openApiDocument({ version: "0.0.0" });
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, described]) => {
      const { operationId, parameters } = described as { operationId?: string; parameters?: readonly Node[] };
      const name = `${method.toUpperCase()} ${path}`;
      const named = (parameters ?? []).flatMap(({ name: of, in: where }) =>
        of === undefined ? [] : [`${name} takes ${where} ${of}`],
      );
      return [`${name}: ${operationId ?? "no operation"}`, ...named];
    }),
  );
  const members = Object.entries(components["schemas"] ?? {}).flatMap(([name, schema]) => membersOf(name, schema));
  return [...new Set([...operations, ...members])].sort();
}

function membersOf(at: string, schema: unknown): readonly string[] {
  if (!isNode(schema)) return [];
  const { type, $ref, properties, items, anyOf, oneOf } = schema;
  const own = `${at}: ${$ref ?? (type === undefined ? "any" : JSON.stringify(type))}`;
  const below = [
    ...(isNode(properties) ? Object.entries(properties).flatMap(([name, of]) => membersOf(`${at}.${name}`, of)) : []),
    ...(items === undefined ? [] : membersOf(`${at}[]`, items)),
    ...[anyOf, oneOf].flatMap((of) =>
      Array.isArray(of) ? of.flatMap((each, n) => membersOf(`${at}|${n}`, each)) : [],
    ),
  ];
  return [own, ...below];
}
