//! Values as numbers and switches.

use crate::model::Ini;

/// Why a value can't be had as what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConvertError {
    Missing,
    /// The text that is there.
    Invalid(String),
}

impl Ini {
    pub fn get_int(&self, section: &str, key: &str) -> Result<i64, ConvertError> {
        let value = match self.get(section, key) {
            Some(value) => value,
            None => return Err(ConvertError::Missing),
        };
        match value.parse() {
            Ok(number) => Ok(number),
            Err(_) => Err(ConvertError::Invalid(value.to_string())),
        }
    }

    pub fn get_float(&self, section: &str, key: &str) -> Result<f64, ConvertError> {
        let value = match self.get(section, key) {
            Some(value) => value,
            None => return Err(ConvertError::Missing),
        };
        match value.parse() {
            Ok(number) => Ok(number),
            Err(_) => Err(ConvertError::Invalid(value.to_string())),
        }
    }

    pub fn get_bool(&self, section: &str, key: &str) -> Result<bool, ConvertError> {
        let value = match self.get(section, key) {
            Some(value) => value,
            None => return Err(ConvertError::Missing),
        };
        match value.to_lowercase().as_str() {
            "yes" | "true" | "on" | "1" => Ok(true),
            "no" | "false" | "off" | "0" => Ok(false),
            _ => Err(ConvertError::Invalid(value.to_string())),
        }
    }
}
