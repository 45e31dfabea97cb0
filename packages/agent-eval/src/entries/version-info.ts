/** What `version` answers. Written in by the build, so that telling it loads nothing. */
declare const __VERSION_INFO__: {
  package: string;
  version: string;
  wireVersion: string;
  apiSurface: string[];
};

export const VERSION_INFO = __VERSION_INFO__;
