/**
 * Documents of the gateway, each with its schema, rules and checks. Spec: documents 2 and 3.
 *
 * A key that belongs to the other document is reported as such, since the two files are usually in one directory.
 */

import {
  type Deployment,
  deploymentChecks,
  deploymentSchema,
  operationChecks,
  overlaySchema,
  type ProviderOperation,
} from "./deployment/index.ts";
import { type NodeFile, nodeFileSchema } from "./node-file/node-file.ts";
import { nodeFileChecks } from "./node-file/node-file-checks.ts";
import { shown } from "./problem.ts";
import { type Read, type ReadOptions, readDocument } from "./read-document.ts";
import type { Lookup, References } from "./references/value-references.ts";
import { printableSchema } from "./schema/json-schema.ts";
import type { JsonSchema, Schema } from "./schema/schema.ts";
import type { Source } from "./yaml/located-tree.ts";

/** Reads the node file. `references.secret` reads from `secrets_dir`, which the caller has read before. */
export function readNodeFile(source: Source, references: References): Read<NodeFile> {
  return readDocument(nodeFileSchema, source, references, {
    fileAllowed: false,
    whenEmpty: "the node file is empty; it needs at least `cluster`",
    unknownKey: (path, key) =>
      path.length === 0 && hasKey(deploymentSchema, key)
        ? `\`${key}\` is a deployment key and does not belong in the node file; it belongs in the deployment document, which \`deployment\` names`
        : undefined,
    wrongDocument: (keys, file) =>
      isOther(keys, { own: nodeFileSchema, other: deploymentSchema })
        ? `this is a deployment document, not a node file; \`-config\` takes a node file that names it (\`deployment: ${fileName(file)}\`). \`gateway config diff FILE\` compares it with what a gateway runs, \`gateway config apply FILE\` puts it in force`
        : undefined,
    checks: nodeFileChecks,
  });
}

/** Rules for reading a deployment document. It is passed around, so literal credentials get a warning. */
export const DEPLOYMENT_RULES: ReadOptions<Deployment> = {
  fileAllowed: true,
  warnOfLiterals: true,
  whenEmpty: "the deployment document is empty; write `{}` for an empty deployment",
  unknownKey: (path, key) =>
    path.length === 0 && hasKey(nodeFileSchema, key)
      ? `\`${key}\` is a node-file key and does not belong in the deployment document`
      : undefined,
  wrongDocument: (keys) =>
    isOther(keys, { own: deploymentSchema, other: nodeFileSchema })
      ? "this is a node file, not a deployment document; name the file that its `deployment` key names. `gateway check -config FILE` checks a node file"
      : undefined,
  checks: deploymentChecks,
};

/** Reads the document of a deployment that has only this one. */
export const readDeployment = (source: Source, references: References): Read<Deployment> =>
  readDocument(deploymentSchema, source, references, DEPLOYMENT_RULES);

/** Reads one overlay file of the node: one provider operation, named after the file. It contains facts only, no references. */
export function readOverlay(source: Source): Read<ProviderOperation> {
  return readDocument(overlaySchema, source, NO_REFERENCES, {
    fileAllowed: false,
    noneAllowed: true,
    whenEmpty: "the overlay file is empty; it must contain one provider operation",
    checks: (operation, problem) => [
      ...operationChecks(operation, problem),
      ...(operation.name === baseName(source.name)
        ? []
        : [problem(["name"], `must equal the file's base name, which is ${shown(baseName(source.name))}`)]),
    ],
  });
}

/** Returns the schema that `-config-schema` prints: that of a configuration source, which is a deployment document. */
export const deploymentJsonSchema = (): JsonSchema =>
  printableSchema(deploymentSchema, { id: "urn:gateway:deployment-document", title: "Deployment document" });

export const nodeFileJsonSchema = (): JsonSchema =>
  printableSchema(nodeFileSchema, { id: "urn:gateway:node-file", title: "Node file" });

const NONE: Lookup = { kind: "problem", message: "references are not supported here" };

const NO_REFERENCES: References = { env: () => undefined, secret: () => NONE, file: () => NONE };

/** Returns the file name of a path. The path may use `/` or `\`. */
const fileName = (path: string): string => path.split(/[/\\]/).at(-1) ?? "";

const baseName = (path: string): string => fileName(path).replace(/\.[^.]+$/, "");

/** Returns whether a text is the other document: it has a key of that one, and none of its own. The two share no key. */
const isOther = (keys: readonly string[], { own, other }: Record<"own" | "other", Schema<unknown>>): boolean =>
  keys.some((key) => hasKey(other, key)) && !keys.some((key) => hasKey(own, key));

const hasKey = (schema: Schema<unknown>, key: string): boolean =>
  Object.hasOwn((schema.json["properties"] ?? {}) as object, key);
