/** Runs the cases of a client program: each has its own base URL, by which the recorder assigns requests. */

export const QUESTION = "What is the weather in Paris?";
export const WEATHER = "It is sunny in Paris.";
export const MODEL = process.env.MODEL ?? "sim-small";
export const KEY = process.env.KEY ?? "test-key";

/** `cases` maps a name to `(root) => promise`; a case that no argument names is not run. */
export async function run(cases) {
  const root = process.env.ROOT;
  let failed = 0;
  for (const [name, make] of Object.entries(cases)) {
    try {
      const result = await make(`${root}/${name}`);
      if (result === undefined || result === null || result === "") throw new Error("nothing came of it");
      console.log(`ok ${name}`);
    } catch (error) {
      failed += 1;
      console.log(
        `failed ${name}: ${String(error?.message ?? error)
          .replaceAll("\n", " ")
          .slice(0, 600)}`,
      );
    }
  }
  process.exit(failed === 0 ? 0 : 1);
}
