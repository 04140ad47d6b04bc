/** Imported first: React and Ink read the environment once when they are loaded, as the console's launcher does. */

process.env["NODE_ENV"] = "production";
delete process.env["CI"];
delete process.env["CONTINUOUS_INTEGRATION"];
