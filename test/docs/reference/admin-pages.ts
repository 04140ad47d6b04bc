/** Pages of the admin API: its operations, from the OpenAPI document, and the columns of its lists. */

import { BASE_PATH, openApiDocument, TABLES } from "../../../src/admin-api/index.ts";
import { REFUSALS } from "../../../src/base/index.ts";
import { ALL_LISTS } from "../../../src/cli/operate/printable-lists.ts";
import { anchor, code, type Page, sentence, table } from "./page.ts";

type Json = Readonly<Record<string, unknown>>;

const recordIn = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});
const listIn = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

const document = openApiDocument({ version: "" });

/** Returns the part of the document that a reference names, or the value itself. */
function resolved(value: unknown): Json {
  const reference = recordIn(value)["$ref"];
  if (typeof reference !== "string") return recordIn(value);
  const steps = reference.replace(/^#\//, "").split("/");
  return recordIn(steps.reduce<unknown>((at, step) => recordIn(at)[step], document));
}

/** Returns a short description of a value's type. */
export function typeWords(schema: Json): string {
  if (Array.isArray(schema["enum"])) return `one of ${schema["enum"].map(code).join(", ")}`;
  const [first = "any value", ...others] = [schema["type"] ?? "any value"].flat().map(String);
  const items = recordIn(schema["items"]);
  const base = first === "array" ? `list of ${plural(items["type"])}` : first;
  return others.includes("null") ? `${base}, or null` : base;
}

const plural = (type: unknown): string => (typeof type === "string" ? `${type}s` : "values");

function parametersOf(operation: Json): string {
  const rows = listIn(operation["parameters"]).map((parameter) => {
    const { name, in: place, description, schema, required } = resolved(parameter);
    const kind = typeWords(recordIn(schema));
    return [
      code(String(name)),
      String(place),
      `${kind}${required === true ? ", required" : ""}`,
      sentence(String(description ?? "")),
    ];
  });
  return rows.length === 0 ? "" : table(["Parameter", "In", "Type", "Description"], rows);
}

/** Returns the members of an object, and of nested objects by their path. */
function membersOf(schema: Json, path: string): readonly (readonly string[])[] {
  const required = (schema["required"] ?? []) as readonly string[];
  return Object.entries(recordIn(schema["properties"])).flatMap(([name, value]) => {
    const member = resolved(value);
    const whole = `${path}${name}`;
    const items = resolved(member["items"]);
    const row = [
      code(whole),
      `${typeWords(member)}${path === "" && required.includes(name) ? ", required" : ""}`,
      sentence(String(member["description"] ?? "")),
    ];
    const below =
      member["properties"] !== undefined
        ? membersOf(member, `${whole}.`)
        : items["properties"] !== undefined
          ? membersOf(items, `${whole}[].`)
          : [];
    return [row, ...below];
  });
}

function bodyOf(operation: Json): string {
  const content = recordIn(resolved(operation["requestBody"])["content"]);
  const [type = ""] = Object.keys(content);
  if (type === "") return "";
  const rows = membersOf(resolved(recordIn(content[type])["schema"]), "");
  const types = Object.keys(content).map(code).join(" or ");
  return rows.length === 0 ? `Body: ${types}.` : `Body: ${types}.\n\n${table(["Member", "Type", "Description"], rows)}`;
}

function answerOf(operation: Json): string {
  const [status = "", answer] =
    Object.entries(recordIn(operation["responses"])).find(([it]) => it.startsWith("2")) ?? [];
  const content = recordIn(resolved(answer)["content"]);
  const [type = ""] = Object.keys(content);
  if (type === "") return `Answer: ${status} without a body.`;
  const schema = resolved(recordIn(content[type])["schema"]);
  const items = recordIn(recordIn(schema["properties"])["items"]);
  const list = /schemas\/(?:row_)?(\w+)$/.exec(String(recordIn(items["items"])["$ref"] ?? ""))?.[1];
  if (list !== undefined && list in TABLES) return `Answer: ${status} with rows of [${code(list)}](lists.md#${list}).`;
  const rows = membersOf(schema, "");
  return rows.length === 0
    ? `Answer: ${status}, ${code(type)}.`
    : `Answer: ${status}, ${code(type)}.\n\n${table(["Member", "Type", "Description"], rows)}`;
}

function codesOf(operation: Json): string {
  const refusals = Object.entries(recordIn(operation["responses"])).filter(([status]) => !status.startsWith("2"));
  const text = JSON.stringify(refusals.map(([, answer]) => resolved(answer)["content"]));
  const names = Object.keys(REFUSALS).filter((name) => text.includes(`"${name}"`));
  return names.length === 0 ? "" : `Errors: ${names.map((name) => `[${code(name)}](errors.md#${name})`).join(", ")}.`;
}

function operationText(method: string, path: string, operation: Json): string {
  const group = operation["x-policy-group"];
  const id = String(operation["operationId"] ?? "");
  const action = group === undefined ? "Open to every client." : `Action ${code(id)} of group ${code(String(group))}.`;
  return [
    `### ${code(`${method.toUpperCase()} ${path.replace(BASE_PATH, "")}`)}`,
    `${anchor(id)}${sentence(String(operation["summary"]))} ${action}`,
    parametersOf(operation),
    bodyOf(operation),
    id === "" ? "" : answerOf(operation),
    codesOf(operation),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

export function adminApiPage(): Page {
  const tags = (document.tags as readonly { name: string }[]).map(({ name }) => name);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation: recordIn(operation) })),
  );
  const sections = tags.map((tag) => {
    const own = operations.filter(({ operation }) => (operation["tags"] as readonly string[])[0] === tag);
    return `## ${tag}\n\n${own.map(({ method, path, operation }) => operationText(method, path, operation)).join("\n\n")}`;
  });
  return {
    path: "admin-api.md",
    title: "Admin API",
    order: 5,
    about: "Every operation of the admin API, with its parameters, body, answer and errors.",
    body: [
      `Paths are below \`${BASE_PATH}\`, on the admin socket and on the admin listener alike. \`gateway admin METHOD PATH\` calls an operation, and \`gateway -openapi\` prints this as an OpenAPI 3.1 document. The admin policy decides by action and group.`,
      ...sections,
    ].join("\n\n"),
  };
}

export function listsPage(): Page {
  const sections = Object.entries(TABLES)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { json }]) => {
      const rows = Object.entries(recordIn(json["properties"])).map(([column, value]) => {
        const schema = recordIn(value);
        return [code(column), typeWords(schema), sentence(String(schema["description"] ?? ""))];
      });
      const aliases = ALL_LISTS.find(({ table: one }) => one === name)?.aliases ?? [];
      const also = aliases.length === 0 ? "" : ` \`gateway get\` also knows it as ${aliases.map(code).join(", ")}.`;
      return `## ${code(name)}\n\n${sentence(String(json["description"]))}${also}\n\n${table(["Column", "Type", "Description"], rows)}`;
    });
  return {
    path: "lists.md",
    title: "Lists and columns",
    order: 6,
    about: "Every list that `gateway get`, `gateway query`, the console and the admin API show, with its columns.",
    body: [
      "`gateway get LIST` prints a list, `gateway query` has a table of the same name, and `GET /admin/v1/LIST` returns its rows. In SQL, objects and lists are JSON text.",
      ...sections,
    ].join("\n\n"),
  };
}

/** Columns without a description. */
export const undocumentedColumns = (): readonly string[] =>
  Object.entries(TABLES).flatMap(([name, { json }]) =>
    Object.entries(recordIn(json["properties"])).flatMap(([column, value]) =>
      typeof recordIn(value)["description"] === "string" ? [] : [`${name}.${column}`],
    ),
  );
