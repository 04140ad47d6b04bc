/** The schema of CycloneDX 1.6, from the format's own library. */

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import draft7 from "ajv";
import { peer } from "../../../peers/index.ts";

interface CycloneDx {
  /** Why the schema is not available, for `{ skip }` of a test. */
  readonly missing: string | false;
  /** Returns the errors of a document; none for a valid one. */
  readonly validate: (document: unknown) => readonly string[];
}

export async function openCycloneDx(): Promise<CycloneDx> {
  const schemas = await peer("cyclonedx-schemas");
  if (schemas.missing !== false) return { missing: schemas.missing, validate: () => [String(schemas.missing)] };
  const read = async (name: string) =>
    JSON.parse(await readFile(join(dirname(schemas.path), name), "utf8")) as Record<string, unknown>;
  const ajv = new draft7.default({ strict: false, validateFormats: false });
  ajv.addSchema(await read("spdx.SNAPSHOT.schema.json"), "http://cyclonedx.org/schema/spdx.SNAPSHOT.schema.json");
  ajv.addSchema(
    await read("jsf-0.82.SNAPSHOT.schema.json"),
    "http://cyclonedx.org/schema/jsf-0.82.SNAPSHOT.schema.json",
  );
  const validate = ajv.compile(await read("bom-1.6.SNAPSHOT.schema.json"));
  return {
    missing: false,
    validate(document) {
      validate(document);
      return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`);
    },
  };
}
