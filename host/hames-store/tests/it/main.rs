//! Do the stores keep what the port promises, on real files?

#[cfg(test)]
mod checkpoint;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod jsonl;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod persistence;
#[cfg(test)]
mod sqlite;
#[cfg(test)]
mod storage_cases;
