import * as z from 'zod/mini';
import { rubric } from './rubric.js';
import { described, wireType } from './wire-types.js';

/** Version of the wire format, apart from the package version. Clients refuse another major. */
export const WIRE_VERSION = '1.1.0';
export const PACKAGE_NAME = '@tangle-network/agent-eval';

export const emptyRequest = wireType('EmptyRequest', 'No parameters.', z.strictObject({}));

export const getRubricRequest = wireType(
  'GetRubricRequest',
  'Which rubric to show.',
  z.strictObject({
    name: described('Name of the rubric.', z.string().check(z.minLength(1, 'must not be empty'))),
  }),
);

export const rubricSummary = wireType(
  'RubricSummary',
  'A rubric of the engine, in short.',
  z.object({
    name: described('Name to judge by.', z.string()),
    description: described('What the rubric is for.', z.string()),
    rubricVersion: described('Name and hash of the rubric.', z.string()),
    dimensions: described('Ids of its dimensions.', z.array(z.string())),
    hasChecks: described('True when it can score by checks, which small models need.', z.boolean()),
  }),
);

export const rubricList = wireType(
  'RubricList',
  'The rubrics the engine knows by name.',
  z.object({ rubrics: described('Sorted by name.', z.array(rubricSummary)) }),
);

export const rubricDetail = wireType(
  'RubricDetail',
  'One rubric with its version hash.',
  z.object({
    rubric: rubric,
    rubricVersion: described('Name and hash of the rubric.', z.string()),
  }),
);

export const versionInfo = wireType(
  'VersionInfo',
  'What is running.',
  z.object({
    package: described('Package name of the engine.', z.string()),
    version: described('Package version of the engine.', z.string()),
    wireVersion: described('Version of the wire format.', z.string()),
    apiSurface: described('Methods the engine answers.', z.array(z.string())),
  }),
);

export const health = wireType(
  'Health',
  'The server answers.',
  z.object({
    status: z.literal('ok'),
    uptimeSec: described('Seconds since the server started.', z.number().check(z.minimum(0))),
  }),
);

export type RubricSummary = z.output<typeof rubricSummary>;
export type RubricList = z.output<typeof rubricList>;
export type RubricDetail = z.output<typeof rubricDetail>;
export type VersionInfo = z.output<typeof versionInfo>;
