/** A reporter for Node's test runner: the files in which something failed, one a line, relative to the working directory. */
import { relative, sep } from "node:path";

export default async function* failedFiles(events) {
  const files = new Set();
  for await (const { type, data } of events) {
    if (type === "test:fail" && data.file !== undefined) files.add(relative(process.cwd(), data.file));
  }
  yield Array.from(files, (file) => file.split(sep).join("/")).join("\n");
}
