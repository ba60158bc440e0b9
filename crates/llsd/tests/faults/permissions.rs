//! Rights that the operator lacks, told in the status of the resources that need them.
