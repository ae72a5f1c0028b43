//! Rows with a head.

use crate::read::{read, ReadError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableError {
    Read(ReadError),
    /// There isn't even a head.
    Empty,
    /// A row has another number of fields than the head; the first row below the head is number 1.
    Ragged { row: usize },
}

/// A head, and rows of the same length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn parse(text: &str) -> Result<Table, TableError> {
        let mut rows = read(text).collect::<Result<Vec<_>, _>>().map_err(TableError::Read)?;
        if rows.is_empty() {
            return Err(TableError::Empty);
        }
        let head = rows.remove(0);
        match rows.iter().position(|row| row.len() != head.len()) {
            Some(at) => Err(TableError::Ragged { row: at + 1 }),
            None => Ok(Table { head, rows }),
        }
    }

    pub fn head(&self) -> &[String] {
        &self.head
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.head.iter().position(|found| found == name)
    }

    /// The field of a row (from 0) in a column.
    pub fn get(&self, row: usize, column: &str) -> Option<&str> {
        Some(self.rows.get(row)?.get(self.column(column)?)?.as_str())
    }

    /// All fields of a column, from the top.
    pub fn values(&self, column: &str) -> Option<Vec<&str>> {
        let at = self.column(column)?;
        Some(self.rows.iter().map(|row| row[at].as_str()).collect())
    }
}
