/** `gateway schema node|deployment`: the JSON Schema of a configuration document, for editors and other checks. */

import { deploymentJsonSchema, type JsonSchema, nodeFileJsonSchema } from "../../server/core/config/index.ts";
import { clipArgument, didYouMean, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { noFlags } from "../verb-flags.ts";
import { SCHEMAS } from "../verb-table.ts";

const PRINTED: Readonly<Record<(typeof SCHEMAS)[number], () => JsonSchema>> = {
  node: nodeFileJsonSchema,
  deployment: deploymentJsonSchema,
};

export async function run(_: FlagsOf<typeof noFlags>, [word = ""]: readonly string[], io: Io): Promise<ExitStatus> {
  const name = SCHEMAS.find((one) => one === word);
  if (name === undefined) {
    throw new UsageError(
      `no schema '${clipArgument(word)}', only ${SCHEMAS.join(" and ")}${didYouMean(word, SCHEMAS)}`,
    );
  }
  io.stdout.write(`${JSON.stringify(PRINTED[name](), null, 2)}\n`);
  return 0;
}
