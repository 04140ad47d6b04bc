/** Imported first: React and Ink look at the environment once, when they are loaded, as the console's launcher knows. */

process.env["NODE_ENV"] = "production";
delete process.env["CI"];
delete process.env["CONTINUOUS_INTEGRATION"];
