import * as z from 'zod';
import { rubric } from './rubric.js';
import { wireType } from './wire-types.js';

/** Version of the wire format, apart from the package version. Clients refuse another major. */
export const WIRE_VERSION = '1.1.0';
export const PACKAGE_NAME = '@tangle-network/agent-eval';

export const emptyRequest = wireType('EmptyRequest', 'No parameters.', z.strictObject({}));

export const getRubricRequest = wireType(
  'GetRubricRequest',
  'Which rubric to show.',
  z.strictObject({ name: z.string().min(1).describe('Name of the rubric.') }),
);

export const rubricSummary = wireType(
  'RubricSummary',
  'A rubric of the engine, in short.',
  z.object({
    name: z.string().describe('Name to judge by.'),
    description: z.string().describe('What the rubric is for.'),
    rubricVersion: z.string().describe('Name and hash of the rubric.'),
    dimensions: z.array(z.string()).describe('Ids of its dimensions.'),
    hasChecks: z.boolean().describe('True when it can score by checks, which small models need.'),
  }),
);

export const rubricList = wireType(
  'RubricList',
  'The rubrics the engine knows by name.',
  z.object({ rubrics: z.array(rubricSummary).describe('Sorted by name.') }),
);

export const rubricDetail = wireType(
  'RubricDetail',
  'One rubric with its version hash.',
  z.object({
    rubric: rubric.describe('The rubric.'),
    rubricVersion: z.string().describe('Name and hash of the rubric.'),
  }),
);

export const versionInfo = wireType(
  'VersionInfo',
  'What is running.',
  z.object({
    package: z.string().describe('Package name of the engine.'),
    version: z.string().describe('Package version of the engine.'),
    wireVersion: z.string().describe('Version of the wire format.'),
    apiSurface: z.array(z.string()).describe('Methods the engine answers.'),
  }),
);

export const health = wireType(
  'Health',
  'The server answers.',
  z.object({
    status: z.literal('ok'),
    uptimeSec: z.number().min(0).describe('Seconds since the server started.'),
  }),
);

export type RubricSummary = z.output<typeof rubricSummary>;
export type RubricList = z.output<typeof rubricList>;
export type RubricDetail = z.output<typeof rubricDetail>;
export type VersionInfo = z.output<typeof versionInfo>;
